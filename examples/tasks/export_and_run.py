"""Export and run: from `fit` to ONNX Runtime, one step at a time.

A network learns to continue a chaotic series. `export_step` writes one of its time steps to a file, and ONNX Runtime
runs it in a short loop, without Keras or this package. The table compares its forecasts with those of Keras and with
the last value. The task needs `onnx` and `onnxruntime`, plus `tf2onnx` (TensorFlow), `jax2onnx` (JAX), or `onnxscript`
(PyTorch).
"""

import pathlib
import tempfile

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn import export_step
from keras_adaptive_rnn.layers import Mogrifier


def chaos(length, seed):
    """Returns the logistic map, each value mixed with the one before."""
    values = [np.random.default_rng(seed).uniform(0.2, 0.8)]
    while len(values) <= length:
        values.append(3.9 * values[-1] * (1 - values[-1]))
    return np.convolve(values, [0.7, 0.3], mode="valid").astype("float32")


def run_in_onnxruntime(path, series):
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    states = {x.name: np.zeros(x.shape, "float32") for x in session.get_inputs() if x.name.startswith("state_")}
    names, forecasts = [x.name for x in session.get_outputs()], []
    for x in series:
        outputs = dict(zip(names, session.run(names, {"inputs": x.reshape(1, 1), **states}), strict=True))
        states = {name: outputs[f"next_{name}"] for name in states}
        forecasts.append(outputs["output"][0, 0])
    return np.array(forecasts)


def main(small=False):
    length, window, epochs, units = (600, 20, 3, 8) if small else (20_000, 50, 30, 32)
    series, unseen = chaos(length, 0), chaos(200, 1)
    x, y = (series[k : k + length - window].reshape(-1, window, 1) for k in (0, 1))
    model = keras.Sequential(
        [keras.Input((None, 1)), Mogrifier(units, rounds=2, return_sequences=True), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), "mse")
    losses = _task.fit("Mogrifier", model, x, y, batch_size=8, epochs=epochs)["loss"]

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "step.onnx"
        export_step(model, str(path), format="onnx")
        size, forecasts = path.stat().st_size, run_in_onnxruntime(path, unseen[:-1])
    in_keras = model.predict(unseen[None, :-1, None], verbose=0)[0, :, 0]
    return _task.Results(
        {
            "the last value": {"MSE": float(np.mean(np.diff(unseen) ** 2))},
            "Keras": {"MSE": float(np.mean((in_keras - unseen[1:]) ** 2))},
            "ONNX Runtime": {
                "file, bytes": size,
                "MSE": float(np.mean((forecasts - unseen[1:]) ** 2)),
                "distance from Keras": float(np.abs(forecasts - in_keras).max()),
            },
        },
        losses,
    )


if __name__ == "__main__":
    _task.run(main)
