"""The Python lines that make the winner."""

import math

TEMPLATE = """\
import keras
import keras_adaptive_rnn as kar

model = keras.Sequential(
    [
        {layers}
    ]
)
{prepare}model.compile(
    keras.optimizers.Adam({rate:g}, clipnorm=1.0),
    {loss},
)
# The comparison also let the rate fall to a tenth in the second half, and kept the weights best on validation.
model.fit(x_train, y_train, batch_size={batch_size}, epochs={epochs})
"""


def lines(learner, rate, steps):
    """Returns lines that make and train a model such as that of `learner`, from `x_train` and `y_train`."""
    data = learner.data
    if data.vocabulary is not None:
        layers = [
            'keras.Input((None,), dtype="int32")',
            f"keras.layers.Embedding({data.vocabulary}, {learner.shape.inputs}, "
            "embeddings_initializer=keras.initializers.RandomNormal(stddev=1.0))",
        ]
        prepare = ""
    else:
        layers = [f"keras.Input((None, {learner.shape.features}))", "keras.layers.Normalization()"]
        prepare = "model.layers[0].adapt(x_train)\n"
    for layer in learner.recurrent:
        sequences = ", return_sequences=True" if layer.return_sequences else ""
        # `key` is that of a cell that a function of the user makes.
        custom = f"kar.RNN(make_{learner.candidate.title}({learner.units}){sequences})"
        layers.append(custom if learner.candidate.key else f"kar.{layer!r}")
    layers.append(f"keras.layers.Dense({learner.shape.outputs})")
    if data.classes is None:
        loss = '"mse"'
        prepare += "# The targets: less their mean, and divided by their standard deviation.\n"
        prepare += "mean, deviation = y_train.mean(axis=0), y_train.std(axis=0)\n"
        prepare += "y_train = (y_train - mean) / deviation\n"
    else:
        loss = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
    epochs = max(1, math.ceil(steps * learner.batch_size / len(data.x["train"])))
    return TEMPLATE.format(
        layers="\n        ".join(f"{layer}," for layer in layers),
        prepare=prepare,
        rate=rate,
        loss=loss,
        batch_size=learner.batch_size,
        epochs=epochs,
    )
