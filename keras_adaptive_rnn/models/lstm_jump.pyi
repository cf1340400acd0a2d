"""LSTM-Jump: reads a few tokens, jumps over some, and stops when it knows enough."""

from typing import Any

from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.models import jumping
from keras_adaptive_rnn.models.base import TextClassifier

class LSTMJump(TextClassifier):
    """Classifies text with an LSTM that reads R tokens, decides how far to jump, and reads on from there.

    After every R tokens, it draws a jump $j_i$ from 0 to K, given the state $h_i$:

    $$p(j_i \\mid h_i) = \\mathrm{softmax}(W_a h_i + b_a)$$

    A jump of 0 stops reading; $j > 0$ continues at the $j$-th of the tokens that follow, so a jump of 1 skips none.
    Reading also stops at the last token, and R tokens after the N-th jump. The classes are predicted from the last
    state, $y = \\mathrm{softmax}(W_y h + b_y)$. Training minimizes

    $$J = J_1 - \\mathbb{E}_{p(j)}[R] + \\sum_i (R - b_i)^2, \\qquad b_i = w_b h_i + c_b$$

    where $J_1$ is the compiled loss, and the reward R is 1 if the most probable class is correct and -1 otherwise.
    REINFORCE estimates the gradient of the second term from one reading of each sample,
    $-\\sum_i \\nabla \\log p(j_i \\mid h_i)(R - b_i)$. This term trains only $W_a, b_a$, and the third only $w_b, c_b$:
    neither trains the embedding or the cell (but see `reward_trains_reader`).

    In inference, only the tokens that are read are embedded and reach the cell, and a batch takes as long as its
    longest reading. R and N do not affect the shapes of the weights, so `get_weights` and `set_weights` copy them to a
    model with another R and N.

    In a training loop of your own, call the model and then `compute_loss` in the same thread: the loss is that of the
    last call with `training=True`.

    Weights, in order of the layers: `cell`, `embedding`, `jump` ($W_a, b_a$), `baseline` ($w_b, c_b$), `classifier`
    ($W_y, b_y$).

    Args:
        read: Positive integer, R, number of tokens to read between two jumps.
        max_jump: Positive integer, K, the longest jump.
        max_jumps: Positive integer, N, the largest number of jumps.
        inference: `"greedy"` (default) takes the most probable jump; `"sample"` draws it, as in training and in the
            experiments of the paper.
        policy_weight: Non-negative number, weight of the expected reward. Defaults to `1.0`.
        baseline_weight: Non-negative number, weight of the baseline's error. Defaults to `1.0`.
        entropy_weight: Non-negative number, weight of the entropy of $p(j_i \\mid h_i)$, which training then also
            maximizes. Defaults to `0.0`, as in the paper.
        reward_trains_reader: Whether the expected reward also trains the embedding and the cell. Defaults to
            `False`.
        seed: Non-negative integer seed of the jumps, or `None` (default).
        vocabulary_size: Positive integer, number of different tokens; inputs are below it.
        embedding_units: Positive integer, size of the embedding of a token.
        classes: Integer of at least 2, number of classes.
        units: Positive integer, units of the LSTM that reads. `None` (default) requires `cell`.
        cell: Recurrent cell to read with instead, from this package or from Keras. `None` (default) means
            `keras_adaptive_rnn.LSTMCell(units)`.
        mask_zero: Whether token 0 is padding. Defaults to `True`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        tokens: Integer tensor `[batch, time]`, padded at either end. Padding between tokens counts as a token that
            leaves the state unchanged.
        mask: Boolean tensor `[batch, time]`, `False` at additional padding. `None` (default) adds none.
        training: Whether to draw jumps, apply the dropout of the cell, and keep what `compute_loss` needs. Defaults to
            `False`.

    Output shape: `[batch, classes]`, probabilities.

    Raises:
        TypeError: an argument is unknown or of the wrong type.
        ValueError: an argument is out of its range; the input is not of rank 2.

    Logs: the compiled metrics, and `tokens_read`, the mean number of tokens that were read.

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
        *,
        read: int,
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
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def call(self, tokens: Any, mask: Any = None, training: bool | None = False) -> Any: ...
    def export(self, filepath: Any, format: str = "tf_saved_model", *args: Any, **kwargs: Any) -> None:
        """Exports the model as `keras.Model.export` does, for inference.

        Args:
            filepath, format, *args, **kwargs: As in `keras.Model.export`.

        Raises:
            ValueError: The jumps are drawn at random, and the file would hold no random generator.
        """

    def test_step(self, *args: Any, **kwargs: Any) -> Any: ...
    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool | None = True
    ) -> Any: ...
    def surrogate(self, episode: Any, reward: Any) -> Any:
        """Returns the terms of the loss, one per sample, that train jumps and baseline."""

    def read_positions(self, x: Tensor, batch_size: int = 32) -> jumping.Reading:
        """Returns where the model reads.

        Args:
            x: Array of tokens `[samples, time]`.
            batch_size: Positive integer. Defaults to `32`.

        Returns: A `Reading`.
        """
