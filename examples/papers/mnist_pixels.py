"""Digits that are read pixel by pixel: six recurrent networks of equal weights.

    python -m examples.papers.mnist_pixels --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Campos et al., Skip RNN: Learning to Skip State Updates in Recurrent Neural Networks (2018), section 4.3.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "pixels",
    False,
    claim="A skip GRU of 110 units is at least as accurate as a GRU, and updates its state in half of the steps.",
)

if __name__ == "__main__":
    _study.main(STUDY)
