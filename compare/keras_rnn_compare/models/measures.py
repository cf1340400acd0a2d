"""Costs of a model besides its training: one step, a prediction, memory."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import keras
import numpy as np

from keras_adaptive_rnn import step_model

STATUS, FORGET = pathlib.Path("/proc/self/status"), pathlib.Path("/proc/self/clear_refs")


def one_step(model):
    """Returns the model of a single time step, or `None` if its recurrent layer is of a kind that runs none."""
    try:
        return step_model(model)
    except ValueError:
        return None


def latency(model, times=50):
    """Returns the median seconds of one time step of a single sequence, or `None` where there is no such step."""
    step = one_step(model)
    if step is None:
        return None
    inputs = {x.name: np.zeros(x.shape, x.dtype) for x in step.inputs}
    seconds = []
    for k in range(times + 3):
        before = time.perf_counter()
        step.predict_on_batch(inputs)
        if k >= 3:  # The first ones compile.
            seconds.append(time.perf_counter() - before)
    return statistics.median(seconds)


def predict_seconds(learner):
    """Returns the seconds of a prediction, for each sequence."""
    # As many as are predicted at once in a judgement.
    x = learner.data.x["validation"][: 16 * learner.batch_size]
    learner.predict(x)
    before = time.perf_counter()
    learner.predict(x)
    return (time.perf_counter() - before) / len(x)


def peak_megabytes(learner):
    """Returns how much memory a training step takes at most, measured in a process of its own; `None` but on Linux.

    That process runs a step, which compiles, has Linux forget the highest use of memory so far, and runs another. What
    it held when the libraries had been imported is left out.
    """
    if not FORGET.exists():
        return None
    x, y = learner.data.x["train"], learner.data.y["train"]
    size = learner.batch_size
    job = {
        "model": learner.model.to_json(),
        "classes": learner.data.classes is not None,
        "x": [[size, *x.shape[1:]], str(x.dtype)],
        "y": [[size, *y.shape[1:]], str(y.dtype)],
    }
    command = [sys.executable, "-W", "ignore", "-m", __name__]
    run = subprocess.run(
        command,
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=pathlib.Path(__file__).parents[2],
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
    )
    return float(run.stdout.split()[-1]) if run.returncode == 0 and run.stdout.strip() else None


def held(name):
    return int(re.search(rf"{name}:\s*(\d+) kB", STATUS.read_text()).group(1)) / 1000


def main():
    job = json.loads(sys.stdin.read())
    keras.ops.convert_to_numpy(keras.ops.zeros(1))
    before = held("VmRSS")
    model = keras.models.model_from_json(job["model"])
    loss = "sparse_categorical_crossentropy" if job["classes"] else "mse"
    model.compile(keras.optimizers.Adam(clipnorm=1.0), loss)
    x, y = (np.zeros(shape, dtype) for shape, dtype in (job["x"], job["y"]))
    model.train_on_batch(x, y)
    FORGET.write_text("5")
    model.train_on_batch(x, y)
    print(held("VmHWM") - before)


if __name__ == "__main__":
    main()
