"""Digits whose pixels are in a random order, read in rows of 28.

    python -m examples.papers.mnist_rows_permuted --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.3 and table 1.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "rows",
    True,
    claim="No paper of ours reads images by rows; this is the quick form of the studies by pixels.",
    outcome="LSTM, GRU and low-rank GRU are equal; a skip GRU is half a point behind with 67 % of the updates",
    found="LSTM, GRU and low-rank GRU differ by less than their standard errors, at 96 %, and the Mogrifier is one "
    "point behind. The skip GRU updates in 67 % of the steps, where it took 59 % in order: with the pixels permuted, "
    "every row has something to say.",
)

if __name__ == "__main__":
    _study.main(STUDY)
