"""Digits whose pixels are read one by one in a random order: six recurrent networks of equal weights.

    python -m examples.papers.mnist_pixels_permuted --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.3 and table 1.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "pixels",
    True,
    claim="With 20,000 weights, a low-rank GRU with a diagonal has 93.5 % of the test images right, a GRU of 51,000 "
    "weights 92.8 %.",
    outcome="not run",
    found="Not run.",
)

if __name__ == "__main__":
    _study.main(STUDY)
