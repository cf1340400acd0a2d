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
    outcome="open: after 1,500 updates, all six are far from the end of training",
    found="After 1,500 updates, test accuracy is 49 % for the low-rank GRU, 48 % for the GRU and the Mogrifier, 31 % "
    "for the skip GRU with 57 % of the state updates, 29 % for the LSTM, and 25 % for the skip GRU at four times the "
    "cost, with 28 %. All are still learning, so this says nothing about the claim, whose models are fully trained. "
    "One seed.",
)

if __name__ == "__main__":
    _study.main(STUDY)
