"""Ten symbols are kept over hundreds of blank steps by thin recurrent matrices with a diagonal.

    python -m examples.papers.memory

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.1.
"""

import keras
import numpy as np

from examples.papers import _study
from keras_adaptive_rnn import GRU, URNN, LowRankGRU

SYMBOLS, KEPT = 8, 10
BLANK, GO = SYMBOLS, SYMBOLS + 1
CARRY_BIAS = 4.0
UPDATE = 0  # The place of that gate in a GRU.


def make_layer(name, settings, features, **kwargs):
    """Returns a low-rank GRU (also normalized, or with the library's start), a GRU with as many weights, or a uRNN."""
    if name.startswith("uRNN"):
        return URNN(settings["units"], **kwargs)

    def low_rank():
        units = settings["units"]
        options = {"diagonal": settings["diagonal"], "carry_bias": CARRY_BIAS, **kwargs}
        if name.startswith("low rank, orthogonal"):
            return LowRankGRU(units, settings["rank"], **options)
        if name.startswith("low rank, normalized"):
            # The paper's remedy for instability, appendix A.2.
            bound = keras.constraints.MaxNorm(10)
            options |= {"weight_normalization": True, "recurrent_constraint": bound, "kernel_constraint": bound}
        # As in the authors' code, where each gate draws matrices of its own.
        return LowRankGRU(
            units,
            settings["rank"],
            kernel_initializer=glorot_uniform(features, units),
            recurrent_initializer="glorot_uniform",
            diagonal_initializer=keras.initializers.RandomUniform(-0.01, 0.01),
            trainable_initial_state=True,
            **options,
        )

    def full_rank(units):
        return GRU(
            units,
            reset_after=False,
            kernel_initializer=glorot_uniform(features, units),
            recurrent_initializer=glorot_uniform(units, units),
            trainable_initial_state=True,
            **kwargs,
        )

    layer = low_rank()
    weights = _study.weights_of(layer, features)
    if name.startswith("full rank"):
        layer = full_rank(_study.equal_units(lambda n: _study.weights_of(full_rank(n), features), weights))
        layer.build((None, None, features))
        _study.set_gate_biases(layer.cell, {UPDATE: CARRY_BIAS})
    return layer


def glorot_uniform(inputs, units):
    """Returns the initializer of a matrix of a single gate, for the joined matrix of all gates."""
    bound = (6 / (inputs + units)) ** 0.5
    return keras.initializers.RandomUniform(-bound, bound)


@keras.saving.register_keras_serializable("examples.papers")
class RecoveringRMSprop(keras.optimizers.RMSprop):
    """RMSProp with gradients of norm 1 at most. Where that norm is not finite, the weights shrink.

    In place of such gradients it takes a tenth of the weights, as the authors' code does. To leave these updates out
    would leave the weights for ever where each batch has such gradients. The averages of the squares start at 0.001 and
    not at zero, also as there, so that the first updates are small.
    """

    def build(self, variables):
        super().build(variables)
        for velocity in self._velocities:
            velocity.assign(keras.ops.full(velocity.shape, 1e-3))

    def apply(self, grads, trainable_variables=None):
        variables = self._trainable_variables if trainable_variables is None else trainable_variables
        norm = keras.ops.sqrt(sum(keras.ops.sum(keras.ops.square(gradient)) for gradient in grads))
        is_finite, scale = keras.ops.isfinite(norm), keras.ops.maximum(norm, 1.0)
        grads = [
            keras.ops.where(is_finite, gradient / scale, 0.1 * variable)
            for gradient, variable in zip(grads, variables, strict=True)
        ]
        return super().apply(grads, trainable_variables)


def make(name, settings, data):
    tokens = keras.Input((settings["gap"] + 2 * KEPT,), dtype="int32")
    one_hot = keras.layers.Embedding(SYMBOLS + 2, SYMBOLS + 2, "identity", trainable=False)
    outputs = make_layer(name, settings, SYMBOLS + 2, return_sequences=True)(one_hot(tokens))
    model = keras.Model(tokens, keras.layers.Dense(SYMBOLS + 2)(outputs))
    model.compile(
        RecoveringRMSprop(settings["rate"], epsilon=1e-8),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def sequences(rng, count, settings):
    """Returns symbols, blanks, a mark and blanks, and what to write: blanks, and after the mark the symbols."""
    gap, kept = settings["gap"], rng.integers(SYMBOLS, size=(count, KEPT))
    if settings["variable"] == "length":
        is_kept = np.arange(KEPT) < rng.integers(1, KEPT + 1, size=(count, 1))
        kept = np.where(is_kept, kept, BLANK)
    gaps = rng.integers(1, gap + 1, size=count) if settings["variable"] == "gap" else np.full(count, gap)
    x = np.full((count, gap + 2 * KEPT), BLANK, "int32")
    y = np.full_like(x, BLANK)
    rows, marks = np.arange(count), KEPT + gaps - 1
    x[:, :KEPT], x[rows, marks] = kept, GO
    y[rows[:, None], marks[:, None] + 1 + np.arange(KEPT)] = kept
    return x, y


def draw(rng, updates, settings, data):
    return sequences(rng, updates * STUDY.batch, settings)


def score(model, settings, data, part):
    x, y = sequences(_study.judging(part), 256, settings)
    return {"cross entropy": model.evaluate(x, y, batch_size=64, verbose=0)}


SMALL = {"gap": 100, "variable": None, "units": 128, "rank": 50, "diagonal": True, "rate": 1e-3}
SMALL |= {"rounds": 50, "updates": 100}
STUDY = _study.Study(
    name="memory",
    title="Memory: ten symbols over a long gap",
    claim="With a gap of 500 steps, a GRU of 128 units, rank 50 and a diagonal falls below a cross entropy of 0.001 "
    "within 35,000 updates. A uRNN of 128 units learns faster.",
    protocol="The paper's settings: RMSProp at 0.001, gradient clipping (norm 1), batches of 20, update-gate biases "
    "that start at 4, a trained initial state. From the authors' code: each gate draws its own Glorot uniform "
    "matrices and a small random diagonal, RMSProp's averages of squared gradients start at 0.001, and where the norm "
    "of the gradients is infinite, a tenth of the weights takes their place. Every batch is fresh. The full-rank GRU "
    "has as many weights (in the paper, as many units). The uRNN has 128 units, as in its own paper, and a sixth of "
    "the weights, and is trained for 10,000 updates. The small budget has a gap of 100 steps.",
    models=("low rank", "full rank", "uRNN"),
    budgets={
        "test": {**SMALL, "gap": 4, "units": 8, "rank": 2, "rounds": 2, "updates": 4},
        "small": SMALL,
        "paper": {**SMALL, "gap": 500, "rounds": 350},
    },
    make=make,
    draw=draw,
    batch=20,
    score=score,
    metric="cross entropy",
    log=True,
    pairs=(("low rank", "full rank"),),
    variants={"uRNN": {"rounds": 100}},
    outcome="holds with both seeds: the low-rank GRU is below 0.001 after 24,000 and 29,600 updates, and ends at "
    "0.00004 and 0.0001; a full-rank GRU with as many weights ends at 0.022 and 0.028",
    found="The low-rank GRU outputs blanks and guesses the symbols (0.040) for 4,200 and 9,600 updates. Then it learns "
    "one symbol after another: it is first below 0.001 after 24,000 and 29,600 updates, stays below from 29,400 and "
    "33,500 on, and ends at 0.000035 and 0.00011. On the way, with the second seed, its error jumps back up to 0.19 "
    "after 21,100 updates. Initialization matters: with Keras's, where all gates share one narrower Glorot matrix for "
    "the inputs and RMSProp's averages start at zero, so that its first updates are large, the one run that was tried "
    "(the first seed) stayed at 0.040 for all 35,000 updates. The full-rank GRU, which starts as the low-rank one "
    "does, guesses the symbols for 11,300 and 6,900 updates, and then learns slowly: it ends at 0.022 and 0.028. No "
    "LSTM was trained. Two seeds, whose trainings took 24 to 105 minutes; the uRNN was not run.",
)

if __name__ == "__main__":
    _study.main(STUDY)
