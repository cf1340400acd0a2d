"""Trains one model on one device and on several, and prints what came out as JSON.

    KERAS_BACKEND=jax python -m tests.distributed FOLDER

The devices must be made before the first operation, hence a process of its own. On PyTorch, every device is a process:
`RANK` says which one, and they meet in FOLDER.
"""

import datetime
import json
import os
import pathlib
import sys

import keras
import numpy as np

import keras_adaptive_rnn as kar

BATCH, DEVICES = 8, 2
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(16, 5, 4)).astype("float32"), rng.normal(size=(16, 1)).astype("float32")


def make_model(batch_size, noise):
    keras.utils.set_random_seed(0)
    layers = [
        kar.Mogrifier(8, rounds=2, dropout=noise, stateful=True, return_sequences=True, seed=1),
        # Wide enough for PyTorch to form the gradient of a kernel once for many steps.
        kar.LSTM(110),
        keras.layers.Dense(1),
    ]
    return keras.Sequential([keras.Input((5, 4), batch_size=batch_size), *layers])


def outcome(model, losses):
    return {"losses": [float(loss) for loss in losses], "weights": [w.tolist() for w in model.get_weights()]}


def fit(batch_size, noise, epochs=2):
    model = make_model(batch_size, noise)
    # With a small epsilon, Adam makes much of gradients that are all rounding.
    model.compile(keras.optimizers.Adam(0.01, epsilon=1e-3), "mse")
    history = model.fit(X, Y, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0)
    return model, outcome(model, history.history["loss"])


def noise_layer():
    # Of all replicas, which without a seed draw the same one.
    keras.utils.set_random_seed(0)
    return kar.LSTM(4, dropout=0.5)


def run_jax(_):
    found = {"one": fit(BATCH, 0.3)[1]}
    with keras.distribution.DataParallel().scope():
        found["data"] = fit(BATCH, 0.3)[1]
        found["noise"] = [noise_layer()(np.ones((2, 5, 4), "float32"), training=True).tolist() for _ in range(2)]
    devices = keras.distribution.list_devices()
    mesh = keras.distribution.DeviceMesh((2, len(devices) // 2), ("batch", "model"), devices)
    layouts = kar.distribution.layout_map(mesh)
    with keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch").scope():
        model, found["model"] = fit(BATCH, 0.3)
    variables = model.weights + model.optimizer.variables
    found["shards"] = {v.path: v.value.addressable_shards[0].data.size / v.value.size for v in variables}
    return found


def run_tensorflow(_):
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * DEVICES)
    found = {"one": fit(BATCH, 0.0)[1]}
    strategy = tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(DEVICES)])

    def draw():
        layer = noise_layer()
        layer.build((None, 5, 4))
        return strategy.run(lambda: layer(tf.ones((1, 5, 4)), training=True))

    with strategy.scope():
        # Each replica reads a part of the batch.
        found["data"] = fit(BATCH // DEVICES, 0.0)[1]
        found["noise"] = [[t.numpy()[0].tolist() for t in strategy.experimental_local_results(draw())] for _ in "ab"]
    return found


def run_torch(folder):
    import torch

    rank = int(os.environ["RANK"])

    def train(wrap, rows):
        model = make_model(BATCH // (DEVICES if rows != slice(None) else 1), 0.0)
        wrapped = wrap(model)
        optimizer = torch.optim.Adam(wrapped.parameters(), lr=0.01, eps=1e-3)
        losses = []
        for k in range(0, 2 * len(X), BATCH):
            x, y = (torch.tensor(array[k % len(X) :][:BATCH][rows]) for array in (X, Y))
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(wrapped(x, training=True), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return model, torch.stack(losses)

    found = {"one": outcome(*train(lambda model: model, slice(None)))}
    torch.distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meeting",
        timeout=datetime.timedelta(minutes=2),
        rank=rank,
        world_size=DEVICES,
    )
    part = BATCH // DEVICES
    model, losses = train(torch.nn.parallel.DistributedDataParallel, slice(rank * part, (rank + 1) * part))
    torch.distributed.all_reduce(losses)
    found["data"] = outcome(model, losses / DEVICES)

    def draw():
        output = noise_layer()(np.ones((1, 5, 4), "float32"), training=True).detach()
        outputs = [torch.empty_like(output) for _ in range(DEVICES)]
        torch.distributed.all_gather(outputs, output)
        return torch.cat(outputs).tolist()

    found["noise"] = [draw(), draw()]
    torch.distributed.destroy_process_group()
    return found


if __name__ == "__main__":
    run = {"jax": run_jax, "tensorflow": run_tensorflow, "torch": run_torch}[keras.backend.backend()]
    pathlib.Path(sys.argv[1], "found.json").write_text(json.dumps(run(sys.argv[1])))
