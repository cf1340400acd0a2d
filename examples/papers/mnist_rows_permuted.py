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
    outcome="LSTM, GRU, low-rank GRU and IRNN are equal; the skip GRU is half a point behind with 67 % of the state "
    "updates",
    found="The LSTM, the GRU, the low-rank GRU and the IRNN are within two standard errors of each other, at 96 %; the "
    "Mogrifier is one point behind. The skip GRU updates its state at 67 % of the steps, against 59 % in order: with "
    "permuted pixels, every row is informative. The skim GRU, with full updates at 41 %, and variable computation, at "
    "76 % of the computation, are behind the skip GRU, and so is the recurrent highway network.",
)

if __name__ == "__main__":
    _study.main(STUDY)
