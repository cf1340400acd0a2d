"""Deep stacks: twelve layers, with and without unit variance at the start.

A plain recurrent network of twelve layers adds up the last five inputs. With small, normally distributed weights, the
signal fades from layer to layer, and the gradient with it; `callbacks.lsuv` scales the matrices of each layer until
its output for a batch of the data has unit variance. The table shows the variance of the top layer before training
and the error after it. The optimizer is SGD with momentum: Adam, which scales gradients itself, trains this network
either way.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn import callbacks
from keras_adaptive_rnn.layers import DeepRNN


def main(small=False):
    length, count, epochs, units, depth = (5, 128, 3, 16, 4) if small else (15, 2000, 10, 32, 12)
    rng = np.random.default_rng(0)
    x, x_test = (rng.normal(size=(rows, length, 4)).astype("float32") for rows in (count, 500))
    y, y_test = (each[:, -5:, 0].sum(axis=1, keepdims=True) for each in (x, x_test))
    rows, losses = {"guess the mean": {"MSE": float(np.var(y_test))}}, {}
    for name in ("with LSUV", "without"):
        keras.utils.set_random_seed(0)
        start = {"kernel_initializer": "random_normal", "recurrent_initializer": "random_normal"}
        layer = DeepRNN(units, depth=depth, skip_every=None, **start)
        model = keras.Sequential([keras.Input((None, 4)), layer, keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.003, momentum=0.9, clipnorm=1.0), "mse")
        if name == "with LSUV":
            callbacks.lsuv(model, x[:64], tolerance=0.1, seed=0)
        variance = float(np.var(keras.Model(model.inputs, layer.output).predict(x_test, verbose=0)))
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"]
        rows[name] = {"variance at the top": variance, "MSE": model.evaluate(x_test, y_test, verbose=0)}
    return _task.Results(rows, losses["with LSUV"], _task.curves(losses, "MSE, training"))


if __name__ == "__main__":
    _task.run(main)
