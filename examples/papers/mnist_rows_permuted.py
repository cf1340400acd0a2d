"""Digits with their pixels in a random order, read in rows of 28.

    python -m examples.papers.mnist_rows_permuted --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.3 and table 1.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "rows",
    True,
    claim="None of the papers reads images by rows; this is a quick version of the pixel studies.",
    outcome="LSTM, GRU, low-rank GRU and IRNN cannot be distinguished; the skip GRU is 0.6 points behind with 67 % of "
    "the state updates",
    found="The LSTM, the GRU, the low-rank GRU and the IRNN cannot be distinguished, at 96 %; the Mogrifier is one "
    "point behind, but not significantly. The skip GRU updates its state at 67 % of the steps, against 59 % in order: "
    "with permuted pixels, every row is informative. The skim GRU, with full updates at 41 %, and variable "
    "computation, at 76 % of the computation, are 1.1 ± 0.1 and 1.5 ± 0.3 points behind that skip GRU; at four times "
    "the cost, it makes 35 % of the updates, and is level with the skim GRU. The recurrent highway network is 1.9 ± "
    "0.2 points behind the GRU.",
)

if __name__ == "__main__":
    _study.main(STUDY)
