"""The adaptive feed-forward layer."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, activations, initializers
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation, Initializer
from keras_adaptive_rnn.cells.adaptive import ADAPTATIONS
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes
from keras_adaptive_rnn.layers.feed_forward import Affine

# For each named policy, how much wider its affine map is than the policy vector, and the function applied to the map.
POLICIES = {
    "linear": (1, keras.activations.linear),
    "tanh": (1, activations.tanh),
    "relu": (1, keras.activations.relu),
    "glu": (2, keras.activations.glu),
}


@export
class AdaptiveDense(Affine):
    r"""A dense layer whose matrices are rescaled, row by row and column by column, by a function of its input.

    $$y = \phi\big(D^{(q)} W^{(q-1)} D^{(q-1)} \cdots W^{(1)} D^{(1)} x + D^{(q+1)} b\big), \qquad
      D^{(j)} = \operatorname{diag}(\pi^{(j)}(x))$$

    A policy $\pi$ maps $x$ to all adaptive diagonals, concatenated in order of $j$: the policy vector. `adaptation`
    determines the matrices and which diagonals are adaptive; the others are one. $D^{(q+1)}$ is adaptive whenever there
    is a bias.

    | `adaptation` | computes (before the bias) | entries of the policy vector |
    | --- | --- | --- |
    | `"io"` (equation 5) | $D^{(2)} W D^{(1)} x$ | inputs + units + units |
    | `"input"` | $W D^{(1)} x$ | inputs + units |
    | `"output"` | $D^{(2)} W x$ | units + units |
    | `"sva"` (equation 4) | $W^{(2)} D^{(2)} W^{(1)} x$, with inner width `rank` | rank + units |
    | widths $[w_1, \dots, w_k]$ | $D^{(k+2)} W^{(k+1)} D^{(k+1)} \cdots W^{(1)} D^{(1)} x$, with $W^{(1)}$ from inputs
      to $w_1$, $W^{(2)}$ from $w_1$ to $w_2$, and so on, $W^{(k+1)}$ from $w_k$ to units | inputs + $w_1 + \dots + w_k$
      + units + units |

    The last `units` entries are for the bias; without a bias, they are omitted. `[]` is the same as `"io"`.

    Weights, in order: the bias `[units]`; the weights of the policy if it is a layer; $W^{(1)}, W^{(2)}, \dots$, each
    `[in, out]` (two thin factors if `rank` makes it low-rank); for a named policy, a kernel `[inputs, entries]` and a
    bias `[entries]`, with twice the entries for `"glu"`.

    Args:
        units: Positive integer, dimensionality of the output space.
        adaptation: `"io"` (default), `"input"`, `"output"`, `"sva"`, or a list of positive integers.
        policy: `"linear"` (default), `"tanh"`, `"relu"` or `"glu"`: an affine map of $x$ followed by this function (the
            gated linear unit is $a \odot \sigma(b)$, with the two halves $a$ and $b$ of the map). Or any Keras layer
            from `[..., inputs]` to `[..., entries]`, such as a `keras.Sequential`.
        rank: Positive integer or `None` (default). For `"sva"`, the inner width, by default the smaller of inputs and
            units; for `"io"`, `"input"` and `"output"`, the rank of $W$, by default full. Must be `None` if
            `adaptation` is a list.
        activation: Activation function $\phi$. Defaults to `None` (linear).
        use_bias: Whether to add the adaptive bias. Defaults to `True`.
        kernel_initializer: Initializer of the matrices and of the kernel of a named policy. Defaults to
            `"semi_orthogonal"`, `keras_adaptive_rnn.initializers.SemiOrthogonal`, as in the paper.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer: Regularizer of each $W$, but not of the policy, `None` by default.
        kernel_constraint: Constraint of each $W$, but not of the policy, `None` by default.
        bias_regularizer: Regularizer of $b$, `None` by default.
        bias_constraint: Constraint of $b$, `None` by default.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.
        training: Whether dropout is on, if the policy has any.

    Output shape: `[..., units]`.

    Example:

    >>> layer = keras_adaptive_rnn.layers.AdaptiveDense(4, adaptation="sva", rank=2, policy="glu")
    >>> tuple(layer(np.ones((2, 3))).shape)
    (2, 4)
    >>> policy = keras.Sequential([keras.layers.Dense(5, activation="relu"), keras.layers.Dense(3 + 4 + 4)])
    >>> tuple(keras_adaptive_rnn.layers.AdaptiveDense(4, policy=policy)(np.ones((2, 3))).shape)
    (2, 4)

    Reference: Flennerhag et al., Breaking the Activation Function Bottleneck through Adaptive Parameterization (2018),
    section 2, equations 2 to 5.
    """

    def __init__(
        self,
        units: int,
        adaptation: str | Sequence[int] = "io",
        *,
        policy: str | keras.layers.Layer = "linear",
        rank: int | None = None,
        activation: Activation = None,
        use_bias: bool = True,
        kernel_initializer: Initializer = "semi_orthogonal",
        **kwargs,
    ):
        super().__init__(kernel_initializer=kernel_initializer, **kwargs)
        self.units = _arguments.integer("units", units)
        self.adaptation = _arguments.resolve("adaptation", adaptation, get_adaptation)
        self.policy = _arguments.resolve("policy", policy, get_policy)
        self.rank = _arguments.integer("rank", rank, optional=True)
        rule = "Argument `rank` must be None if `adaptation` is a list, which specifies all widths"
        _arguments.check(rank is None or isinstance(self.adaptation, str), rule, rank=rank, adaptation=adaptation)
        self.activation = _arguments.resolve("activation", activation, activations.get)
        self.use_bias = _arguments.boolean("use_bias", use_bias)
        self.kernel_maps = []
        self.bias = self.policy_layer = None

    def build(self, input_shape):
        super().build(input_shape)
        inputs = input_shape[-1]
        is_sva = self.adaptation == "sva"
        if is_sva:
            inner = [min(inputs, self.units) if self.rank is None else self.rank]
        else:
            inner = [] if isinstance(self.adaptation, str) else self.adaptation
        # The sizes of the input, of the vectors between the matrices, and of the output; each vector has its diagonal.
        widths = [inputs, *inner, self.units]
        self._adapted = {"sva": [1], "input": [0], "output": [1]}.get(str(self.adaptation), range(len(widths)))
        self._entries = [widths[k] for k in self._adapted] + [self.units] * self.use_bias

        rank = None if is_sva else self.rank
        self.kernel_maps = [self.make_map(w, rank=rank, index=k) for k, w in enumerate(widths[1:])]
        for width, kernel_map in zip(widths, self.kernel_maps, strict=False):
            kernel_map.build((None, width))
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.units,), **self.arguments_of("bias"))
        self.policy_layer = self._make_policy()
        # A mask passes through this layer even if the policy drops it, so Keras need not warn.
        self.policy_layer.supports_masking = True
        if not self.policy_layer.built:
            # A call builds any layer, even one without a `build` method.
            self.policy_layer(keras.KerasTensor(input_shape, dtype=self.compute_dtype))

    def _make_policy(self):
        if not isinstance(self.policy, str):
            return self.policy
        times, _ = POLICIES[self.policy]
        initializer = initializers.reseeded(self.kernel_initializer, "policy")
        return keras.layers.Dense(
            times * sum(self._entries), kernel_initializer=initializer, name="policy", dtype=self.dtype_policy
        )

    def diagonals(self, inputs):
        """Returns the adaptive diagonals, in order."""
        vector = ops.cast(self.policy_layer(inputs), self.compute_dtype)
        if isinstance(self.policy, str):
            _, function = POLICIES[self.policy]
            vector = function(vector)
        if vector.shape[-1] != sum(self._entries):
            raise ValueError(
                f"Argument `policy` must be a layer that outputs {sum(self._entries)} entries "
                f"({' + '.join(map(str, self._entries))}) for adaptation={self.adaptation!r}, "
                f"rank={self.rank}, use_bias={self.use_bias} and inputs of size {inputs.shape[-1]}. "
                f"Received: an output of shape {tuple(vector.shape)}"
            )
        return split_sizes(vector, self._entries)

    def call(self, inputs):
        diagonals = self.diagonals(inputs)
        x = self.adapted(inputs, diagonals)
        if self.use_bias:
            x = x + diagonals[-1] * self.bias
        return self.activation(x)

    def adapted(self, x, diagonals):
        """Returns the product of the adapted matrices and `x`, without the bias."""
        diagonals = iter(diagonals)
        for k in range(len(self.kernel_maps) + 1):
            x = self.kernel_maps[k - 1](x) if k > 0 else x
            x = x * next(diagonals) if k in self._adapted else x
        return x

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)


def get_adaptation(identifier):
    """Returns the name of an adaptation, or a list of widths."""
    if isinstance(identifier, (list, tuple)) and all(isinstance(w, int) and w > 0 for w in identifier):
        return list(identifier)
    if isinstance(identifier, str) and identifier in ADAPTATIONS:
        return identifier
    raise ValueError(f"Allowed: {', '.join(map(repr, ADAPTATIONS))}, or a list of positive integers.")


def get_policy(identifier):
    """Returns the name of a policy, or a layer from a layer or its config."""
    if isinstance(identifier, dict):
        identifier = keras.saving.deserialize_keras_object(identifier)
    if isinstance(identifier, keras.layers.Layer) or (isinstance(identifier, str) and identifier in POLICIES):
        return identifier
    raise ValueError(f"Allowed: {', '.join(map(repr, POLICIES))}, or a Keras layer.")
