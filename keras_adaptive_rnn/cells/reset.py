"""A cell that restarts from its initial state where a flag in its inputs is set."""

from typing import Any

from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell


@export
class ResetCell(WrapperCell):
    r"""A cell that starts again from its initial state wherever the last feature of its input is one.

    With $x_t = [z_t; r_t]$ and the initial states $s^0$:

    $$s_t = \mathrm{cell}(z_t, r_t s^0 + (1 - r_t)\, s_{t-1})$$

    for each state. This is for `keras.layers.RNN` and for files with a single input; the layers of this package take
    `resets` as a call argument. With `go_backwards`, $r_t$ is one at the last step of an episode.

    Weights: the weights of the cell.

    Args:
        cell: A cell object; its first state must be its output.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: the states of the cell, each `[batch, size]`. The last feature of the inputs is one where an episode
    begins, else zero.

    Example:

    >>> x, resets = np.ones((2, 5, 3)), np.zeros((2, 5, 1))
    >>> resets[:, 3] = 1
    >>> layer = keras.layers.RNN(keras_adaptive_rnn.ResetCell(keras_adaptive_rnn.MogrifierCell(8)))
    >>> tuple(layer(np.concatenate([x, resets], axis=-1)).shape)
    (2, 8)

    Reference: Lu et al., Structured State Space Models for In-Context Reinforcement Learning (2023), for the resets.
    """

    changes_output_state = False
    fixed_arguments = ("dropout", "recurrent_dropout")

    def __init__(self, cell: Any, **kwargs):
        super().__init__(cell, **kwargs)

    def build(self, input_shape):
        fits = input_shape[-1] is None or input_shape[-1] >= 2
        rule = f"{type(self).__name__} takes inputs of at least two features, of which the last is the flag of a reset"
        _arguments.check(fits, rule, input_shape=tuple(input_shape))
        self.build_inner(self.cell, (input_shape[0], input_shape[-1] - 1))
        super().build(input_shape)

    def project(self, inputs, run):
        return self.inner_project(inputs[..., :-1], run), inputs[..., -1:] > 0.5

    def step(self, projected, states, run):
        projected, flags = projected
        initial = self.get_initial_state(ops.shape(flags)[0])
        states = [ops.where(flags, first, state) for first, state in zip(initial, states, strict=True)]
        return self.inner_step(projected, states, run)
