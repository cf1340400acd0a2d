"""LSTM-Jump: read a few tokens, jump over some, and stop when enough is known."""

from typing import Any

from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.models.base import TextClassifier
from keras_adaptive_rnn.models.jumping import Reading

class LSTMJump(TextClassifier):
    """A recurrent network that jumps: it reads R tokens, draws how far to go on, and classifies what it has read.

    After every R tokens, in the state $h_i$, it draws a jump $j_i$ of 0 to K:

    $$p(j_i \\mid h_i) = \\mathrm{softmax}(W_a h_i + b_a)$$

    0 ends the reading; $j > 0$ goes on at the $j$-th token after those it has read, so 1 skips none. The reading also
    ends with the last token, and after R tokens past the N-th jump. The last state gives the classes,
    $y = \\mathrm{softmax}(W_y h + b_y)$. Training minimises

    $$J = J_1 - \\mathbb{E}_{p(j)}[R] + \\sum_i (R - b_i)^2, \\qquad b_i = w_b h_i + c_b$$

    where $J_1$ is the compiled loss, and the reward R is 1 where the largest $y$ is the right class and -1 where it is
    not. The second term's gradient is estimated by REINFORCE from one reading a sample,
    $-\\sum_i \\nabla \\log p(j_i \\mid h_i)(R - b_i)$; it trains $W_a, b_a$, and the third term $w_b, c_b$: neither
    reaches the reader (but see `reward_trains_reader`).

    `fit` is Keras's own. In inference only the tokens that are read are embedded and go through the cell, and a batch
    takes as long as its longest reading. R and N are in no weight: a model with others takes over the weights by
    `get_weights` and `set_weights`.

    Weights, in order of the layers: `cell`, `embedding`, `jump` ($W_a, b_a$), `baseline` ($w_b, c_b$), `classifier`
    ($W_y, b_y$).

    Args:
        read: Positive integer, R, tokens that are read between two jumps.
        max_jump: Positive integer, K, the longest jump.
        max_jumps: Positive integer, N, how many jumps there may be.
        inference: `"greedy"` (default), the most probable jump is taken, or `"sample"`, it is drawn as in training,
            as in the experiments of the paper.
        policy_weight: Non-negative number, weight of the expected reward. Defaults to `1.0`.
        baseline_weight: Non-negative number, weight of the baseline's error. Defaults to `1.0`.
        entropy_weight: Non-negative number, weight of the entropy of $p(j_i \\mid h_i)$, which the training then also
            maximises. Defaults to `0.0`, as in the paper.
        reward_trains_reader: Whether the expected reward also trains embedding and cell. Defaults to `False`.
        seed: Non-negative integer seed of the jumps, or `None` (default).
        **kwargs: As in `TextClassifier`: vocabulary_size, embedding_units, classes, units, cell, mask_zero, name,
            dtype, trainable.

    Call arguments:
        tokens: Integer tensor `[batch, time]`. Padding may be at both ends; padding between tokens is passed over as
            a token is, and changes no state.
        mask: Boolean tensor `[batch, time]`, `False` at more padding; `None` (default) for none.
        training: Whether jumps are drawn, the cell drops, and the reading is kept for the loss.

    Output shape: `[batch, classes]`, probabilities.

    Raises:
        TypeError: an argument is unknown or of the wrong type.
        ValueError: an argument is out of its range; the input is not of rank 2.

    Logs: `tokens_read`, the mean number of tokens that were read, beside the compiled metrics.

    Example:

    >>> model = keras_adaptive_rnn.models.LSTMJump(
    ...     vocabulary_size=20, embedding_units=4, classes=2, units=8, read=2, max_jump=5, max_jumps=3
    ... )
    >>> x = np.random.default_rng(0).integers(1, 20, size=(6, 30))
    >>> model.predict(x, verbose=0).shape
    (6, 2)
    >>> bool((model.read_positions(x).counts <= 2 * (3 + 1)).all())
    True

    Reference: Yu, Lee and Le, Learning to Skim Text (2017), sections 2.1 to 2.3.
    """

    read: int
    max_jump: int
    max_jumps: int
    inference: str
    policy_weight: float
    baseline_weight: float
    entropy_weight: float
    reward_trains_reader: bool
    seed: int | None
    seed_generator: Any
    embedding: Any
    jump: Any
    baseline: Any
    classifier: Any
    tokens_read: Any
    vocabulary_size: int
    embedding_units: int
    classes: int
    units: int | None
    mask_zero: bool

    def __init__(
        self,
        read: int,
        *,
        max_jump: int,
        max_jumps: int,
        inference: str = "greedy",
        policy_weight: float = 1.0,
        baseline_weight: float = 1.0,
        entropy_weight: float = 0.0,
        reward_trains_reader: bool = False,
        seed: int | None = None,
        vocabulary_size: int,
        embedding_units: int,
        classes: int,
        units: int | None = None,
        cell: Any = None,
        mask_zero: bool = True,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A recurrent network that jumps: it reads R tokens, draws how far to go on, and classifies what it has read.

        Args:
            read: Positive integer, R, tokens that are read between two jumps.
            max_jump: Positive integer, K, the longest jump.
            max_jumps: Positive integer, N, how many jumps there may be.
            inference: `"greedy"` (default), the most probable jump is taken, or `"sample"`, it is drawn as in
                training, as in the experiments of the paper.
            policy_weight: Non-negative number, weight of the expected reward. Defaults to `1.0`.
            baseline_weight: Non-negative number, weight of the baseline's error. Defaults to `1.0`.
            entropy_weight: Non-negative number, weight of the entropy of $p(j_i \\mid h_i)$, which the training
                then also maximises. Defaults to `0.0`, as in the paper.
            reward_trains_reader: Whether the expected reward also trains embedding and cell. Defaults to `False`.
            seed: Non-negative integer seed of the jumps, or `None` (default).
            vocabulary_size: Positive integer, how many tokens there are; inputs are below it.
            embedding_units: Positive integer, size of the vector of a token.
            classes: Integer of at least 2, how many classes there are.
            units: Positive integer, units of the LSTM that reads; `None` (default) where `cell` is given.
            cell: Recurrent cell of any kind that reads instead, ours or Keras's; `None` (default) for
                `keras_adaptive_rnn.LSTMCell(units)`.
            mask_zero: Whether token 0 is padding. Defaults to `True`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build(self, input_shape: Any) -> None: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...
    def call(self, tokens: Any, mask: Any = None, training: bool | None = False) -> Any: ...
    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool | None = True
    ) -> Any: ...
    def surrogate(self, episode: Any, reward: Any) -> Any:
        """Returns, for each sample, the terms whose gradient is that of the expected reward and of the baseline."""

    def read_positions(self, x: Tensor, batch_size: int = 32) -> Reading:
        """Returns where the model reads, as `Reading`.

        Args:
            x: Tokens `[samples, time]`.
            batch_size: Positive integer. Defaults to `32`.
        """
