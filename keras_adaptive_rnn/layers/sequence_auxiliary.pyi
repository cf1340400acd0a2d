"""An auxiliary loss that makes a recurrent network remember, or foresee, what is near a random step."""

from typing import Any

from keras_adaptive_rnn._types import Regularizer
from keras_adaptive_rnn.layers.feed_forward import FeedForward

MODES: Any

class SequenceAuxiliary(FeedForward):
    """Returns the states of a recurrent network, and adds to the loss how badly a decoder rebuilds what is near them.

    In training, it draws an anchor $a$ for each row: the network has read $x_1, \\dots, x_a$, its states are $s_a$. A
    decoder starts from $s_a$ and writes the $l$ steps before the anchor (`"reconstruct"`, r-LSTM) or after it
    (`"predict"`, p-LSTM), one after the other, each from the true steps before it in this window. The loss is the mean
    over these steps: the cross entropy if the sequence holds integers, the squared error if it holds vectors. A window
    ends where the sequence does, and masked steps do not count.

    The states come from `keras_adaptive_rnn.StatesOutput` in an `RNN` with `return_sequences=True`. If that cell has
    `truncate`, so should this layer: the anchors are then at the ends of blocks, where the gradient reaches back
    `truncate` steps.

    Two models over the same layers train in two phases: one that ends with this layer, compiled without a loss; then
    the classifier on top of it, compiled with one. Inference draws nothing and costs nothing.

    Weights: those of the decoder's cells, then of `output`.

    Args:
        cell: The decoder's cell, or a list of cells, the lowest first. The lowest starts from the states of the
            network, whose sizes it must have; those above start from zero.
        length: Positive integer, $l$.
        anchors: Positive integer, the number of anchors in each row. Defaults to `1`.
        mode: `"reconstruct"` (default) or `"predict"`.
        output: The layer that makes predictions from the decoder's outputs, or an integer: the size of a
            `keras.layers.Dense`, which for integers is the number of classes, and its outputs are logits. `None`
            (default) is a `Dense` of the size of the vectors.
        weight: Non-negative number, the factor of the loss. Defaults to `1.0`.
        first_given: Whether the first step of a window is given and not predicted, as in the paper. If not, the
            decoder writes it as well, from the states alone. Defaults to `True`.
        truncate: Positive integer, or `None` (default): anchors are multiples of it.
        seed: Non-negative integer seed of the anchors, or `None` (default).
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        states: Tensor `[batch, time, size]`, the states of the network after each step.
        sequence: What the network has read: integers `[batch, time]`, or vectors `[batch, time, features]`.
        mask: Boolean tensor `[batch, time]`, or `None` (default) for the mask of `states`.
        training: Whether the loss is added.

    Output shape: that of `states`, which are returned as they are.

    Raises:
        ValueError: An argument is out of range, the decoder does not fit the states, or the number of classes is not
            given.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> x = keras.Input((None,), dtype="int32")
    >>> network = keras_adaptive_rnn.RNN(keras_adaptive_rnn.StatesOutput(keras_adaptive_rnn.LSTMCell(8)), True)
    >>> auxiliary = keras_adaptive_rnn.layers.SequenceAuxiliary(keras_adaptive_rnn.LSTMCell(8), length=10, output=5)
    >>> states = auxiliary(network(keras.layers.Embedding(5, 4)(x)), x)
    >>> first = keras.Model(x, states)
    >>> first.compile("adam")
    >>> run = first.fit(np.ones((4, 20), "int32"), verbose=0)
    >>> second = keras.Model(x, keras.layers.Dense(2)(states[:, -1]))

    Reference: Trinh, Dai, Luong and Le, Learning Longer-term Dependencies in RNNs with Auxiliary Losses (2018).
    """

    is_time_distributed: bool
    decoder: Any
    cell: Any
    length: int
    anchors: int
    mode: str
    first_given: bool
    output_layer: Any
    weight: float
    truncate: int | None
    seed: int | None
    seed_generator: Any
    autocast: bool
    classes: Any
    activity_regularizer: Any

    def __init__(
        self,
        cell: Any,
        length: int,
        anchors: int = 1,
        mode: str = "reconstruct",
        *,
        output: Any = None,
        weight: float = 1.0,
        first_given: bool = True,
        truncate: int | None = None,
        seed: int | None = None,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def given(self, name: Any) -> Any: ...
    def build(self, states_shape: Any, sequence_shape: Any) -> None: ...
    def call(self, states: Any, sequence: Any, mask: Any = None, training: bool | None = False) -> Any: ...
    def draw_anchors(self, rows: Any, steps: Any) -> Any:
        """Returns how many steps the network has read at each anchor, int32 `[rows, anchors]`."""

    def compute_mask(self, states: Any, mask: Any = None) -> Any: ...
    def compute_output_shape(self, states_shape: Any, sequence_shape: Any = None) -> Any: ...
