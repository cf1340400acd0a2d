"""Digits read row by row: recurrent networks with equal numbers of weights.

    python -m examples.papers.mnist_rows --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Campos et al., Skip RNN: Learning to Skip State Updates in Recurrent Neural Networks (2018), section 4.3.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "rows",
    False,
    claim="None of the papers reads images by rows; this is a quick version of the pixel studies.",
    outcome="the GRUs lead, the LSTM is close; a skip GRU is 0.4 points behind with 59 % of the state updates; with 30 "
    "%, it is 1.2 points behind, and a skim GRU 0.9",
    found="In order, test accuracy is 98.7 % for the GRU and the low-rank GRU, 98.5 % for the LSTM, which is behind "
    "with every seed but not significantly, and 98.1 % for the Mogrifier. The skip GRU is 0.4 points behind the GRU "
    "and updates its state at 59 % of the steps; at four times the cost, it is 1.2 points behind and updates at 30 %. "
    "The cost trades accuracy for updates, as in the paper. The skim GRU takes full updates at 29 % of the steps and "
    "is 0.9 points behind, 0.2 ahead of the skip GRU of that cost; a GRU with variable computation is 0.8 points "
    "behind with 77 % of the computation. An IRNN, a vanilla network that starts at the identity, is as good as the "
    "LSTM; the recurrent highway network, at 94.8 %, is last.",
)

if __name__ == "__main__":
    _study.main(STUDY)
