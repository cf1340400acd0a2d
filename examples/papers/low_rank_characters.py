"""GRUs and LSTMs of low rank beside those of full rank on characters: equal weights or equal units, tied, dropout.

    python -m examples.papers.low_rank_characters --data penn/

`penn` is a folder with a file each for train, valid and test; without it, the text is the Python language reference.

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2018), table 2.
"""

import keras
import numpy as np

from examples.papers import _characters, _study
from keras_adaptive_rnn import GRU, LSTM, LowRankGRU, LowRankLSTM

TIED = ", tied"
DROPOUT = ", dropout"
AS_MANY = ", as many units"
GRUS = tuple(f"low-rank GRU{tied}{more}" for tied in ("", TIED) for more in ("", DROPOUT, AS_MANY))
MODELS = ("GRU", f"GRU{DROPOUT}", *GRUS, "LSTM", "low-rank LSTM")


def make_layer(name, units, settings, rate=0.0):
    options = {"dropout": rate, "recurrent_dropout": rate, "return_sequences": True}
    if name.startswith("low-rank"):
        options |= {"rank": min(settings["rank"], units), "tied": TIED in name}
        # As in the paper's experiments with language models.
        return LowRankGRU(units, reset_after=True, **options) if "GRU" in name else LowRankLSTM(units, **options)
    return (GRU if "GRU" in name else LSTM)(units, **options)


def make(name, settings, data):
    classes = data[0]
    sized = "GRU" if name.endswith(AS_MANY) else name

    def count(units):
        return _study.weights_of(make_layer(sized, units, settings), classes) + (units + 1) * classes

    units = _study.equal_units(count, settings["weights"])
    rate = settings["dropout"] if name.endswith(DROPOUT) else 0.0
    tokens = keras.Input((None,), dtype="int32")
    states = make_layer(name, units, settings, rate)(keras.ops.one_hot(tokens, classes))
    if rate:
        states = keras.layers.Dropout(rate, noise_shape=(None, 1, None))(states)
    return _characters.compiled(tokens, keras.layers.Dense(classes)(states), settings, clip=1.0)


def score(model, settings, data, part):
    bits = _characters.score(model, settings, data, part)["bits"]
    return {"bits": bits, "perplexity": float(np.exp2(bits))}


STUDY = _characters.study(
    name="low_rank_characters",
    title="Characters of the Penn Treebank: low rank",
    claim="With 2.5 million weights, a tied GRU of rank 64 and 6,985 units has a perplexity of 2.76 per character, and "
    "a GRU of 1,000 units and 3.1 million weights 2.92. With as many units, a seventh of the weights is enough for "
    "2.90, and without tied matrices 2.92. With as many weights, tied matrices are better; with dropout, too.",
    protocol="One layer on one-hot characters, as in the paper, 300,000 weights, or the units of the GRU; low-rank "
    "matrices have rank 16 and a diagonal, and tied ones share their projections. Dropout: a tenth of the inputs, of "
    "the recurrent state and of the output, with one mask per sequence. Adam at 0.002, gradients clipped to a norm of "
    "1, batches of 32 sequences of 50 characters, 2,400 updates, the learning rate constant for half of them and then "
    "falling to a tenth. Nothing is tuned. Perplexity is per character: two to the power of the bits.",
    models=MODELS,
    budgets=_characters.budgets(
        {**_characters.SHORT, "rank": 16, "dropout": 0.1},
        (6000, 300_000, 2_500_000),
        test={"rank": 2},
        paper={"rank": 64},
    ),
    make=make,
    score=score,
    families={
        name: next(((name[: -len(end)], end[2:]) for end in (DROPOUT, AS_MANY) if name.endswith(end)), (name, None))
        for name in MODELS
    },
    paper={
        "GRU": {"perplexity": 2.96},
        "GRU, dropout": {"perplexity": 2.92},
        "low-rank GRU, as many units": {"perplexity": 2.92},
        "low-rank GRU, dropout": {"perplexity": 2.86},
        "low-rank GRU, tied, as many units": {"perplexity": 2.90},
        "low-rank GRU, tied, dropout": {"perplexity": 2.76},
    },
    pairs=(
        *((name, "GRU, dropout" if name.endswith(DROPOUT) else "GRU") for name in GRUS),
        ("low-rank GRU, tied", "low-rank GRU"),
        ("low-rank LSTM", "LSTM"),
    ),
    outcome="not after 2,400 updates: with as many weights, the low-rank GRU is 0.043 ± 0.001 bits behind the GRU, "
    "tied or not, but the low-rank LSTM is ahead of the LSTM",
    found="The text is read less than once, where the paper trains to the end. So dropout only costs, 0.12 to 0.14 "
    "bits, and large states have not paid off: with as many weights, low-rank GRUs, of more than three times the "
    "units, are 0.043 ± 0.001 bits behind the GRU, and 0.029 ± 0.002 if all have dropout. With as many units and less "
    "than a third of the weights, they are 0.26 bits behind, where the paper has them level. Tied matrices make no "
    "difference, 0.002 ± 0.001 bits with as many weights; in the paper, they are better. The LSTM is far behind the "
    "GRU, at 2.10 ± 0.03 bits; at low rank, it has 1.91.",
)

if __name__ == "__main__":
    _study.main(STUDY)
