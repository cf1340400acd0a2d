"""Four recurrent networks of words, trained as AWD-LSTM was: with averaged SGD.

    python -m examples.papers.ptb_sgd --data penn/

`penn` is a folder with `ptb.train.txt`, `ptb.valid.txt` and `ptb.test.txt`. Each training is a run of
`examples/word_language_model.py`, which goes on where it was killed.

Reference: Merity, Keskar and Socher, Regularizing and Optimizing LSTM Language Models (2018); Melis, Kočiský and
Blunsom, Mogrifier LSTM (2020); Flennerhag et al., Breaking the Activation Function Bottleneck through Adaptive
Parameterization (2018).
"""

from examples.papers import ptb_words
from examples.papers.ptb_recipe import SGD

# Options of `word_language_model.py`. With these units of the lower layer, all have the same weights to within 0.1 %.
MODELS = {
    "AWD-LSTM": {"model": "awd", "units": 448},
    "Mogrifier": {"model": "mogrifier", "units": 400},
    "low-rank LSTM": {"model": "low-rank-lstm", "units": 732},
    "adaptive LSTM": {"model": "adaptive-lstm", "units": 322},
}
RATES = {"AWD-LSTM": (20, 30), "Mogrifier": (10, 20, 30), "low-rank LSTM": (10, 20, 30), "adaptive LSTM": (3, 10, 30)}
KINDS = {f"{name}, {rate}": (name, rate) for name, rates in RATES.items() for rate in rates}
# The best rates once more, for as many epochs as in `ptb_words`.
BEST = {"AWD-LSTM": 30, "Mogrifier": 20, "low-rank LSTM": 20}
LONG = {f"{name}, {rate}, 25 epochs": (name, rate) for name, rate in BEST.items()}


def options(name: str, rate: int) -> dict:
    return {**SGD, **MODELS[name], "learning-rate": float(rate)}


STUDY = ptb_words.study_of(
    "awd",
    {kind: options(*of) for kind, of in KINDS.items()}
    | {kind: {**options(*of), "epochs": 25} for kind, of in LONG.items()},
    name="ptb_sgd",
    title="Words of the Penn Treebank: four models with averaged SGD",
    claim="AWD-LSTM is trained by SGD at a rate of 30, whose weights are averaged in the end (Merity et al.). With "
    "Adam, the Mogrifier is ahead of an LSTM (Melis et al.), and the adaptive LSTM of AWD-LSTM (Flennerhag et al.).",
    protocol="The texts, the three million weights and the dropout rates of `ptb_words`, but twelve epochs of SGD, "
    "with gradients clipped to a norm of 0.25 and weights averaged over the last quarter, at the learning rates of "
    "the table with seed 1, and at the best of each with seed 2. The rows of AWD-LSTM at 30 are those of "
    "`ptb_recipe`. All but the adaptive LSTM, at the best rate of each, also in 25 epochs, with three seeds, as in "
    "`ptb_words`.",
    outcome="with averaged SGD, AWD-LSTM is ahead of the Mogrifier, by 3.4 ± 0.2 after 25 epochs at the best rate of "
    "each; at the same rate, they are level after twelve; the low-rank LSTM is ahead of both with two seeds, and "
    "does not learn with the third; the adaptive LSTM does not learn",
    found="At a rate of 20, the Mogrifier has a test perplexity of 132.0 and 132.1, AWD-LSTM 131.9 and 132.0, and the "
    "low-rank LSTM 132.5 and 137.9. At 30, AWD-LSTM has 129.9 and 129.5. There, the Mogrifier is ahead of it in each "
    "of the first seven epochs, and then diverges; the low-rank LSTM ends at 154.1. So nothing is left of the lead of "
    "10.0 ± 0.8 that the Mogrifier has after as many epochs of Adam (`ptb_mogrifier`), with which both are worse: "
    "AWD-LSTM has 149.6 and 149.7 (`ptb_recipe`), the Mogrifier 138.9 and 139.0. The adaptive LSTM, with 436.3, 420.3 "
    "and 420.4 at rates of 3, 10 and 30, does not get below the 418 that the frequencies of the words alone give; "
    "with Adam, it learns (`ptb_words`). After 25 epochs, AWD-LSTM at 30 has 117.3 ± 0.2, the Mogrifier at 20 has "
    "120.6 ± 0.1: both are better than after as many epochs of Adam, with which AWD-LSTM has 128.5 ± 0.3 and the "
    "Mogrifier 125.9 ± 0.2 (`ptb_words`), and in the other order. The low-rank LSTM at 20 has 115.9 and 115.9, and "
    "418.7 with the third seed, with which it never gets below the frequencies of the words. At 10, it learns with "
    "that seed too, but more slowly: after twelve epochs, it has 148.2 there, and 147.6 with the first seed. Other "
    "norms of clipping were not tried.",
    paper=None,
    families=KINDS | LONG,
    top=500,
    pairs=(
        ("Mogrifier, 20", "AWD-LSTM, 20"),
        ("Mogrifier, 20", "AWD-LSTM, 30"),
        ("low-rank LSTM, 20", "AWD-LSTM, 20"),
        ("low-rank LSTM, 20", "AWD-LSTM, 30"),
        ("Mogrifier, 20, 25 epochs", "AWD-LSTM, 30, 25 epochs"),
    ),
)


def run(argv: list[str] | None = None) -> dict:
    return ptb_words.run_static(STUDY, argv)


if __name__ == "__main__":
    run()
