"""A linear memory whose coefficients a small recurrent policy sets."""

from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.cells.bases.container import ContainerCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.cells.min_rnn import MinGRUCell, MinLSTMCell
from keras_adaptive_rnn.cells.rg_lru import RGLRUCell

POLICIES = {"lstm": LSTMCell, "gru": GRUCell}
MEMORIES = {"min_gru": MinGRUCell, "min_lstm": MinLSTMCell, "rg_lru": RGLRUCell}


@export
class AdaptiveLinearCell(ContainerCell):
    r"""A wide linear memory whose coefficients a small recurrent policy sets.

    $$p_t, s_t = \mathrm{policy}(x_t, s_{t-1}), \qquad [z_t; \tilde h_t] = [x_t; p_t]\, W + b$$
    $$h_t = (1 - \sigma(z_t)) \odot h_{t-1} + \sigma(z_t) \odot \tilde h_t$$

    A linear recurrence whose coefficients depend on the input alone cannot follow a state that its own steps change,
    such as a permutation. Here the policy, an LSTM of a quarter of the units, follows it, and most units cost a
    multiplication and an addition. The policy does not read the memory: `keras_adaptive_rnn.layers.RNN` first runs the
    policy over the sequence, and then the memory in a scan.

    Weights: those of the policy, then those of the memory.

    Args:
        units: Positive integer, units of the memory, and dimensionality of the output space.
        policy_units: Positive integer, units of the policy. Defaults to `None`: a quarter of `units`.
        policy: Cell of the policy, `"lstm"` (default) or `"gru"`.
        memory: Cell of the memory, `"min_gru"` (default), `"min_lstm"` or `"rg_lru"`, which reads $[x_t; p_t]$.
        dropout: As in `keras_adaptive_rnn.cells.Cell`; policy and memory read the same dropped inputs.
        recurrent_dropout: Not accepted.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: $h$ `[batch, units]`, then the states of the policy, each `[batch, policy_units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.AdaptiveLinearCell(16, policy_units=4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 16)

    Reference: after Flennerhag et al., Breaking the Activation Function Bottleneck through Adaptive Parameterization
    (2018), on linear recurrences; nothing is published of this cell itself. As a network, it is a minGRU on an LSTM,
    with skip connections from the input as in Graves, Generating Sequences With Recurrent Neural Networks (2013).
    """

    fixed_arguments = ("recurrent_dropout",)

    def __init__(
        self,
        units: int,
        policy_units: int | None = None,
        *,
        policy: str = "lstm",
        memory: str = "min_gru",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = _arguments.integer("units", units)
        self.policy_units = _arguments.integer("policy_units", policy_units, optional=True)
        self.policy = _arguments.choice("policy", policy, POLICIES)
        self.memory = _arguments.choice("memory", memory, MEMORIES)
        inside = {"dtype": self.dtype_policy, "trainable": self.trainable}
        self.policy_cell = POLICIES[policy](
            self.policy_units or max(1, self.units // 4), seed=fold_in(self.seed, "policy"), name="policy", **inside
        )
        self.memory_cell = MEMORIES[memory](self.units, seed=fold_in(self.seed, "memory"), name="memory", **inside)
        self.output_size = self.units
        self.state_size = [*self.memory_cell.state_size, *self.policy_cell.state_size]

    def inner_cells(self):
        return [self.memory_cell, self.policy_cell]

    def build(self, input_shape):
        batch_size, features = input_shape
        self.build_inner(self.policy_cell, input_shape)
        self.build_inner(self.memory_cell, (batch_size, features + self.policy_cell.output_size))
        super().build(input_shape)

    @property
    def noise_sizes(self):
        return {"dropout": self.input_size}

    def project(self, inputs, run):
        x = self.drop(inputs, "dropout", run)
        return [x, self.policy_cell.project(x, run)]

    def step(self, projected, states, run):
        x, projected = projected
        memory_states, policy_states = self.split_states(states)
        p, policy_states = self.policy_cell.step(projected, policy_states, run)
        projected = self.memory_cell.project(self.memory_inputs(x, p), run)
        h, memory_states = self.memory_cell.step(projected, memory_states, run)
        return h, [*memory_states, *policy_states]

    def memory_inputs(self, x, p):
        """Returns the inputs of the memory: those of the cell, and the outputs of the policy."""
        return ops.concatenate([x, p], axis=-1)
