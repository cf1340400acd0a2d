"""The adaptive feed-forward layer."""

from collections.abc import Sequence
from typing import Any

from keras.src.layers.layer import Layer

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.layers.feed_forward import Affine

POLICIES: Any

class AdaptiveDense(Affine):
    """A dense layer whose matrices are rescaled, row by row and column by column, by a function of its input.

    $$y = \\phi\\big(D^{(q)} W^{(q-1)} D^{(q-1)} \\cdots W^{(1)} D^{(1)} x + D^{(q+1)} b\\big), \\qquad
      D^{(j)} = \\operatorname{diag}(\\pi^{(j)}(x))$$

    A policy $\\pi$ maps $x$ to all adaptive diagonals, concatenated in order of $j$: the policy vector. `adaptation`
    determines the matrices and which diagonals are adaptive; the others are one. $D^{(q+1)}$ is adaptive whenever there
    is a bias.

    | `adaptation` | computes (before the bias) | entries of the policy vector |
    | --- | --- | --- |
    | `"io"` (equation 5) | $D^{(2)} W D^{(1)} x$ | inputs + units + units |
    | `"input"` | $W D^{(1)} x$ | inputs + units |
    | `"output"` | $D^{(2)} W x$ | units + units |
    | `"sva"` (equation 4) | $W^{(2)} D^{(2)} W^{(1)} x$, with inner width `rank` | rank + units |
    | widths $[w_1, \\dots, w_k]$ | $D^{(k+2)} W^{(k+1)} D^{(k+1)} \\cdots W^{(1)} D^{(1)} x$, with $W^{(1)}$ from inputs
      to $w_1$, $W^{(2)}$ from $w_1$ to $w_2$, and so on, $W^{(k+1)}$ from $w_k$ to units | inputs + $w_1 + \\dots + w_k$
      + units + units |

    The last `units` entries are for the bias; without a bias, they are omitted. `[]` is the same as `"io"`.

    Weights, in order: the bias `[units]`; the weights of the policy if it is a layer; $W^{(1)}, W^{(2)}, \\dots$, each
    `[in, out]` (two thin factors if `rank` makes it low-rank); for a named policy, a kernel `[inputs, entries]` and a
    bias `[entries]`, with twice the entries for `"glu"`.

    Args:
        units: Positive integer, dimensionality of the output space.
        adaptation: `"io"` (default), `"input"`, `"output"`, `"sva"`, or a list of positive integers.
        policy: `"linear"` (default), `"tanh"`, `"relu"` or `"glu"`: an affine map of $x$ followed by this function
            (the gated linear unit is $a \\odot \\sigma(b)$, with the two halves $a$ and $b$ of the map). Or any Keras
            layer from `[..., inputs]` to `[..., entries]`, such as a `keras.Sequential`.
        rank: Positive integer or `None` (default). For `"sva"`, the inner width, by default the smaller of inputs
            and units; for `"io"`, `"input"` and `"output"`, the rank of $W$, by default full. Must be `None` if
            `adaptation` is a list.
        activation: Activation function $\\phi$. Defaults to `None` (linear).
        use_bias: Whether to add the adaptive bias. Defaults to `True`.
        kernel_initializer: Initializer of the matrices and of the kernel of a named policy. Defaults to
            `"semi_orthogonal"`, `keras_adaptive_rnn.initializers.SemiOrthogonal`, as in the paper.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer: Regularizer of each $W$, but not of the policy, `None` by default.
        bias_regularizer: Regularizer of $b$, `None` by default.
        kernel_constraint: Constraint of each $W$, but not of the policy, `None` by default.
        bias_constraint: Constraint of $b$, `None` by default.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.
        training: Whether dropout is on, if the policy has any.

    Output shape: `[..., units]`.

    Raises:
        ValueError: An argument is out of range, `rank` does not fit `adaptation`, or the output of the policy does not
            have the size of the policy vector.

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

    units: int
    adaptation: Any
    policy: Any
    rank: int | None
    activation: Any
    use_bias: bool
    kernel_maps: Any
    bias: Any
    policy_layer: Any
    kernel_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    bias_constraint: Any
    activity_regularizer: Any

    def __init__(
        self,
        units: int,
        adaptation: str | Sequence[int] = "io",
        *,
        policy: str | Layer = "linear",
        rank: int | None = None,
        activation: Activation = None,
        use_bias: bool = True,
        kernel_initializer: Initializer = "semi_orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def call(self, inputs: Any) -> Any: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...

def get_adaptation(identifier: Any) -> Any:
    """Returns the name of an adaptation, or a list of widths."""

def get_policy(identifier: Any) -> Any:
    """Returns the name of a policy, or a layer from a layer or its config."""
