"""Deep vanilla stacks on characters: which diverge, which train, and what bipolar activations and skips change.

    python -m examples.papers.deep_stacks --data penn/

`penn` is a folder with a file each for train, valid and test; without it, the text is the Python language reference.

Reference: Eidnes and Nøkland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018), table 1.
"""

import keras
import numpy as np

from examples.papers import _characters, _study
from keras_adaptive_rnn import DeepRNN, callbacks

DEPTHS = (4, 8, 16, 36)
# The model's name, its activation, depth, and what it does without.
VARIANTS = {
    f"{name} x {depth}": (activation, depth, None)
    for name, activation in (("ReLU", "relu"), ("BReLU", "brelu"), ("ELU", "elu"), ("BELU", "belu"))
    for depth in DEPTHS
}
VARIANTS |= {f"BELU x {depth}, no skips": ("belu", depth, "skips") for depth in (8, 36)}
VARIANTS |= {f"BELU x {depth}, no LSUV": ("belu", depth, "LSUV") for depth in (8, 36)}
# Bits on validation; stacks of ELU did not converge.
PAPER = {
    "ReLU": (1.321, 1.331, 1.321, 1.353),
    "BReLU": (1.324, 1.320, 1.324, 1.319),
    "BELU": (1.318, 1.317, 1.317, 1.311),
}


def make_layer(name, units, settings):
    activation, depth, missing = VARIANTS[name]
    skip_every = None if missing == "skips" else settings["skip_every"]
    return DeepRNN(units, depth=depth, activation=activation, skip_every=skip_every, return_sequences=True)


def make(name, settings, data):
    classes = data[0]

    def count(units):
        return _study.weights_of(make_layer(name, units, settings), units) + (2 * units + 1) * classes

    units = _study.equal_units(count, settings["weights"])
    tokens = keras.Input((None,), dtype="int32")
    # As wide as a layer, so that the first block has a skip connection, which adds it to the output; fixed, and of unit
    # variance over the text.
    embedding = keras.layers.Embedding(classes, units, trainable=False)
    embedded = embedding(tokens)
    normal = np.random.default_rng(0).normal(size=(classes, units))
    embedding.set_weights([normal / normal[data[1]["train"]].std()])
    states = make_layer(name, units, settings)(embedded)
    model = _characters.compiled(tokens, keras.layers.Dense(classes)(states), settings)
    if VARIANTS[name][2] != "LSUV":
        x, _ = _characters.draw(np.random.default_rng(0), 1, settings, data)
        # The skip connections alone have nearly unit variance, so what the layers add to them need not be exact.
        callbacks.lsuv(keras.Model(tokens, states), x, tolerance=0.1, seed=0)
    return model


STUDY = _characters.study(
    name="deep_stacks",
    title="Deep vanilla stacks: characters",
    claim="With 4.75 million weights on the Penn Treebank, ReLU stacks get worse with depth (1.321 bits at 4 layers, "
    "1.353 at 36), ELU stacks do not converge, and BELU stacks do not get worse (1.318 and 1.311). Without skip "
    "connections, 36 layers do not learn.",
    protocol="Skip connections every four layers, the first from the embedding, which is fixed, of unit variance and "
    "as wide as a layer; LSUV, and Adam without gradient clipping, as in the paper; no dropout, batches of 32 "
    "sequences of 50 characters. The learning rate is 0.0005 for all. Figures are on validation data, as in "
    "the paper's table.",
    models=tuple(VARIANTS),
    budgets=_characters.budgets(
        {"skip_every": 4, "steps": 50, "rate": 5e-4},
        (4000, 300_000, 4_750_000),
        small={"judged": 20_000, "updates": 100},
        paper={"rate": 2e-4},
    ),
    make=make,
    judged="valid",
    pairs=(),
    families={name: (name.replace(f" x {depth}", ""), depth) for name, (_, depth, _) in VARIANTS.items()},
    across="depth",
    top=2.7,  # 36 layers without skip connections stay at 4.3.
    paper={
        f"{name} x {depth}": {"bits": bits}
        for name, row in PAPER.items()
        for depth, bits in zip(DEPTHS, row, strict=True)
    },
    outcome="in part: after 800 updates, ReLU gets worse with depth, by 0.20 bits, but BELU too, by 0.12, and ELU "
    "trains as well as BELU; without skip connections, 36 layers do not learn",
    found="All runs stop after 800 updates, far from the end of training. What holds: from 4 to 36 layers, ReLU stacks "
    "lose most (0.196 ± 0.025 bits), BReLU stacks less (0.160 ± 0.016), and BELU stacks least (0.119 ± 0.012); bipolar "
    "ReLU is ahead of ReLU at 4 and at 36 layers with every seed, by 0.015 and 0.051, but not significantly; 36 layers "
    "without skip connections learn only the character frequencies. What does not: ELU stacks converge at every depth "
    "and lose as little (0.119 ± 0.010); BELU stacks are ahead of them with every seed at 16 layers only, by 0.011, "
    "but not significantly. With as many weights, deep stacks are narrow and learn more slowly at first; whether they "
    "catch up takes longer training to tell. BELU stacks learn as fast without LSUV, at 8 and at 36 layers. None "
    "diverged; one rate.",
)

if __name__ == "__main__":
    _study.main(STUDY)
