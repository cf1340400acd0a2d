"""The Python lines that predict with the winner, and train others like it."""

import math
import textwrap

from keras_adaptive_rnn.layers import RNN
from keras_rnn_compare.reading.tables import listed

TEMPLATE = """\
import keras
import keras_adaptive_rnn as kar
from keras_rnn_compare import Comparison

{use}

# Another model like it. The comparison also let the rate fall to a tenth in the second half, and kept the weights that
# were best on validation.{reads}
def train(x_train, y_train):
    model = keras.Sequential(
        [
            {layers}
        ]
    )
{prepare}    model.compile(
        keras.optimizers.Adam({rate:g}, clipnorm=1.0),
        {loss},
    )
    model.fit(x_train, y_train, batch_size={batch_size}, epochs={epochs})
    return model
"""
ROWS = """\
# The saved model: from a file to predictions.{needs}
found = Comparison({folder!r})
for row in found.predict({file!r}{decimal}):
    print(row)
"""
MODEL = """\
# The saved model: it reads what was compared on, as it is.
model = Comparison({folder!r}).best_model()
"""


def lines(learner, rate, steps, folder, file):
    """Returns lines that predict with the saved model, and train a model such as that of `learner`.

    Args:
        learner: The `Learner` of the winner.
        rate, steps: Its learning rate, and the steps of its training.
        folder: Path of the comparison.
        file: Path of the data, or `None` if it was no file.
    """
    data = learner.data
    needs, reads = "", ""
    if data.card.get("reads", {}).get("known"):
        rows = "next row" if data.card["horizon"] == 1 else f"next {data.card['horizon']} rows"
        needs = comment(f"The file must also hold the {rows}, with {listed(data.card['reads']['known'])}.")
    decimal = ', decimal=","' if data.card.get("decimal") == "," else ""
    use = MODEL if file is None or data.is_text else ROWS
    use = use.format(folder=str(folder), file=file, decimal=decimal, needs=needs)
    if data.vocabulary is not None:
        layers = [
            'keras.Input((None,), dtype="int32")',
            f"keras.layers.Embedding({data.vocabulary}, {learner.shape.inputs}, "
            "embeddings_initializer=keras.initializers.RandomNormal(stddev=1.0))",
        ]
        prepare = ""
    else:
        if "columns" in data.card:
            reads = comment(f"It reads windows [windows, steps, features] of {listed(data.card['columns'])}.")
        layers = [f"keras.Input((None, {learner.shape.features}))", "keras.layers.Normalization()"]
        if learner.shape.is_widened:
            layers.append(
                f'keras.layers.Dense({learner.shape.inputs}, use_bias=False, kernel_initializer="lecun_normal")'
            )
        prepare = "    model.layers[0].adapt(x_train)\n"
    for layer in learner.recurrent:
        layers.append(layer_line(learner, layer))
    layers.append(f"keras.layers.Dense({learner.shape.outputs})")
    if data.classes is None:
        loss = '"mse"'
        prepare += "    # The targets: less their mean, and divided by their standard deviation.\n"
        prepare += "    mean, deviation = y_train.mean(axis=0), y_train.std(axis=0)\n"
        prepare += "    y_train = (y_train - mean) / deviation\n"
    else:
        loss = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
    epochs = max(1, math.ceil(steps * learner.batch_size / len(data.x["train"])))
    return TEMPLATE.format(
        use=use,
        reads=reads,
        layers="\n            ".join(f"{layer}," for layer in layers),
        prepare=prepare,
        rate=rate,
        loss=loss,
        batch_size=learner.batch_size,
        epochs=epochs,
    )


def layer_line(learner, layer):
    """Returns the call that makes a recurrent layer."""
    # `key` is that of what a function of the user makes.
    if not learner.candidate.key:
        return f"kar.{layer!r}"
    made = f"make_{learner.candidate.title}({learner.units})"
    if type(layer) is RNN:
        return f"kar.RNN({made}{', return_sequences=True' if layer.return_sequences else ''})"
    return f"# With `return_sequences=True`:\n            {made}" if layer.return_sequences else made


def comment(text):
    """Returns a text as lines of a comment, which follow another line."""
    return "".join(f"\n# {line}" for line in textwrap.wrap(text, 118))
