"""Layers that are no cells: highway, and the bipolar activations and their relatives."""

import keras
import numpy as np

import keras_adaptive_rnn as kar
from tests.golden.layouts.base import golden, join


def highway(data, config):
    blocks = "ht" if config["coupled"] else "htc"

    def layout(read):
        if config["rank"] is None:
            weights = [join(read(f"W_{block}") for block in blocks)]
        else:
            weights = [np.stack([read(f"{side}_{block}") for block in blocks]) for side in "RL"]
            if config["diagonal"]:
                weights.append(join(read(f"D_{block}") for block in blocks))
        return [*weights, join(read(f"b_{block}") for block in blocks)]

    arguments = {name: value for name, value in config.items() if name != "name"}
    return golden(data, kar.layers.Highway(**arguments), layout, states=())


def bipolar(data, config):
    name = config["name"]
    if name in ("crelu", "oplu"):
        layer = {"crelu": kar.layers.CReLU, "oplu": kar.layers.OPLU}[name]()
    else:
        f = {"brelu": "relu", "belu": "elu", "bleaky": keras.layers.LeakyReLU(0.1)}[name.split("_")[1]]
        layer = kar.layers.Bipolar(f, axis=config.get("axis", -1), layout=config["layout"])
    return golden(data, layer, lambda read: [], states=())
