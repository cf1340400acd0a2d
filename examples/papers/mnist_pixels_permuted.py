"""Digits read pixel by pixel in a random order: recurrent networks with equal numbers of weights.

    python -m examples.papers.mnist_pixels_permuted --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.3 and table 1.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "pixels",
    True,
    claim="A low-rank GRU of 20,000 weights, with a diagonal, reaches a test accuracy of 93.5 %, a GRU of 51,000 "
    "weights 92.8 %.",
    outcome="open: after 1,500 updates, all are far from the end of training, and low-rank GRU and GRU cannot be "
    "distinguished (3.1 ± 2.5 points)",
    found="After 1,500 updates, test accuracy is 51 ± 1 % for the low-rank GRU and 48 ± 1 % for the GRU, a difference "
    "of 3.1 ± 2.5 points. The skip GRU has 30 ± 1 % with 55 ± 2 % of the state updates, and 25 % with 26 ± 1 % of them "
    "at four times the cost. The LSTM reaches 24 to 38 %, depending on the seed. The Mogrifier has 48 and 40 %; with "
    "the third seed, it falls from 28 % to chance in the middle of training, and ends at 15 %. The IRNN has 30 ± 2 %, "
    "the recurrent highway network 36 ± 1 %. But for that Mogrifier, all are still learning, so this says nothing "
    "about the claim, whose models are fully trained.",
)

if __name__ == "__main__":
    _study.main(STUDY)
