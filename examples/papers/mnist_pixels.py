"""Digits read pixel by pixel: recurrent networks with equal numbers of weights.

    python -m examples.papers.mnist_pixels --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Campos et al., Skip RNN: Learning to Skip State Updates in Recurrent Neural Networks (2018), section 4.3.
"""

from examples.papers import _digit_sequences, _study

STUDY = _digit_sequences.study(
    "pixels",
    False,
    claim="A skip GRU of 110 units is at least as accurate as a GRU, and updates its state at half of the steps.",
    outcome="in part: after 1,500 updates, no difference beyond the noise between the GRU and the skip GRU, which "
    "makes 79 % of the state updates (paper: half)",
    found="After 1,500 updates, test accuracy is 85 ± 2 % for the low-rank GRU, 84 ± 1 % for the skip GRU, 82 ± 2 % "
    "for the GRU and 75 ± 5 % for the Mogrifier; all are still learning. The IRNN has 68 ± 3 %, the recurrent highway "
    "network 67.3 ± 0.1 %, and the LSTM reaches 22 to 65 %, depending on the seed. The skip GRU skips 21 ± 2 % of its "
    "state updates and is 1.8 ± 1.9 points ahead of the GRU, so no worse; the paper's skips half, after full training. "
    "At four times the cost, it skips 71 ± 2 % and is 31 ± 2 points behind.",
)

if __name__ == "__main__":
    _study.main(STUDY)
