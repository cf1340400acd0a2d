"""The base class of cells whose state is a linear recurrence, with coefficients that depend on the inputs alone."""

from keras import ops

from keras_adaptive_rnn import engine, initializers
from keras_adaptive_rnn._precision import precise
from keras_adaptive_rnn.cells.bases.affine import AffineInputs


class LinearCell(AffineInputs):
    r"""A cell whose state is a linear recurrence, $h_t = a_t \odot h_{t-1} + b_t$, where $a_t, b_t$ need no state.

    A subclass lists its gates in `gates` and implements `coefficients(inputs, run)`, which returns $a$ and $b$ for
    inputs with any leading axes. `self.split(self.affine(inputs, run))` is $x W + b$, one piece per gate. A subclass
    whose output is not $h$ implements `read_out(h, inputs, run)` too, likewise.

    `keras_adaptive_rnn.layers.RNN` computes the coefficients of all steps at once, and the states in one scan, whose
    gradient is the same recurrence in reverse. Inside a wrapper, such as a Mogrifier, the coefficients may depend on
    the state, and the cell runs step by step like any other.

    A recurrence of another form, such as that of `MatrixMemoryCell`, has other coefficients: a subclass of its own then
    implements `recur` and `recur_over`, and lists its `neutral` coefficients.

    Weights, in order: the weights of `kernel_map`, `bias`. A trained initial state comes before them.

    Args:
        units: Positive integer, dimensionality of the state and of each gate.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, bias_regularizer: Regularizers of $W$, $b$, `None` by default.
        kernel_constraint, bias_constraint: Constraints of $W$, $b$, `None` by default.
        kernel_map: The linear map $W$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such as
            `LowRank(rank=24, diagonal=True)`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.
    """

    # Dropping a state with its mask would scale up what stays in every step, without bound.
    fixed_arguments = ("recurrent_dropout",)
    divided_weights = {"kernel_map/kernel": 1}
    # The coefficients of a step that changes no state, `None` for any.
    neutral: tuple[float | None, ...] = (1.0, 0.0)

    def __init__(self, units: int, **kwargs):
        super().__init__(units, **kwargs)
        if self.has_read_out:
            self.state_size = [self.output_size, self.units]
            self.reads_output, self.memory_index = False, 1

    def bind_gate_map(self, gate_map, units):
        """Returns the bound map of further gates, with the arguments of $W$ and random numbers of its own."""
        initializer = initializers.reseeded(self.kernel_initializer, "gates")
        return self.bind_map("gate_map", gate_map, units, **self.arguments_of("kernel", initializer=initializer))

    @property
    def has_read_out(self):
        """Whether the output is another tensor than the state."""
        return type(self).read_out is not LinearCell.read_out

    @property
    def noise_sizes(self):
        return {"dropout": self.input_size}

    def coefficients(self, inputs, run):
        """Returns $a$ and $b$, `[..., units]`, of inputs `[..., features]`."""
        raise NotImplementedError

    def read_out(self, h, inputs, run):
        """Returns the output, `[..., output_size]`, from $h$ and the inputs of the same steps. By default it is $h$."""
        return h

    def project(self, inputs, run):
        return list(self.coefficients(inputs, run)), [inputs] if self.has_read_out else []

    def step(self, projected, states, run):
        coefficients, read = projected
        h, memories = self.recur(coefficients, self.memories(states))
        if not self.has_read_out:
            return h, memories
        output = self.read_out(h, *read, run)
        return output, [output, *memories]

    def memories(self, states):
        """Returns the states that the recurrence reads: all but an output that is none of them."""
        return states[1:] if self.has_read_out else states

    def recur(self, coefficients, memories):
        """Returns $h$ and the list of memories after one step."""
        a, b = map(precise, coefficients)
        h = ops.cast(a * precise(memories[0]) + b, memories[0].dtype)
        return h, [h]

    def recur_over(self, coefficients, memories, associative, resets=None):
        """Returns $h$ at all steps, `[time, batch, ...]`, and the list of memories after the last one.

        Args:
            coefficients: List of tensors `[time, batch, ...]`.
            memories: List of the memories before the first step.
            associative: That of `engine.linear_scan`.
            resets: `Resets` of the memories, or `None` (default).
        """
        # A step may change less than half precision can represent.
        a, b, h = map(precise, (*coefficients, memories[0]))
        if resets is not None:
            a, b = ops.where(resets.flags, 0.0, a), b + ops.where(resets.flags, a * precise(resets.states[0]), 0.0)
        h = ops.cast(engine.linear_scan(a, b, h, associative), memories[0].dtype)
        return h, [last_entry(memories[0], h)]

    def masked(self, coefficients, mask):
        """Returns coefficients that are neutral where the mask, `[time, batch, 1]`, is false."""

        def where(coefficient, neutral):
            if neutral is None:
                return coefficient
            return ops.where(mask if len(coefficient.shape) == 3 else mask[..., None], coefficient, neutral)

        return list(map(where, coefficients, self.neutral))


def last_entry(before, sequence):
    """Returns the last entry of a sequence, or `before` if it is empty; its length may not be known."""
    return ops.concatenate([before[None], sequence[-1:]])[-1]
