"""Digits that are read row by row: six recurrent networks of equal weights.

    python -m examples.papers.mnist_rows --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Campos et al., Skip RNN: Learning to Skip State Updates in Recurrent Neural Networks (2018), section 4.3.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "rows",
    False,
    claim="No paper of ours reads images by rows; this is the quick form of the studies by pixels.",
)

if __name__ == "__main__":
    _study.main(STUDY)
