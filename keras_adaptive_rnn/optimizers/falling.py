"""The fall of a learning rate over a training."""


def falling(rate, done):
    """Returns the learning rate once a share `done` of the training is over: it falls to a tenth in the second half."""
    return rate * min(1.0, max(0.1, 2 * (1 - done)))
