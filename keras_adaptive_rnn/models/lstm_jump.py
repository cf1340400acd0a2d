"""LSTM-Jump: reads a few tokens, jumps over some, and stops when it knows enough."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.cells.bases import any_cell
from keras_adaptive_rnn.loop.cell_runner import CellRunner
from keras_adaptive_rnn.models import jumping
from keras_adaptive_rnn.models.base import TextClassifier, probabilities


@export
class LSTMJump(TextClassifier):
    r"""Classifies text with an LSTM that reads R tokens, decides how far to jump, and reads on from there.

    After every R tokens, it draws a jump from 0 to K, $p(j_i \mid h_i) = \mathrm{softmax}(W_a h_i + b_a)$. A jump of 0
    stops reading; $j > 0$ continues at the $j$-th of the tokens that follow, so a jump of 1 skips none. Reading also
    stops at the last token, and R tokens after the N-th jump. The classes are predicted from the last state,
    $y = \mathrm{softmax}(W_y h + b_y)$. Training minimizes

    $$J = J_1 - \mathbb{E}_{p(j)}[R] + \sum_i (R - b_i)^2, \qquad b_i = w_b h_i + c_b$$

    where $J_1$ is the compiled loss, and the reward R is 1 if the most probable class is correct and -1 otherwise.
    REINFORCE estimates the gradient of the second term from one reading of each sample,
    $-\sum_i \nabla \log p(j_i \mid h_i)(R - b_i)$. This term trains only $W_a, b_a$, and the third only $w_b, c_b$:
    neither trains the embedding or the cell (but see `reward_trains_reader`).

    In inference, only the tokens that are read are embedded and reach the cell, and a batch takes as long as its
    longest reading. The shapes of the weights do not depend on R and N.

    In a training loop of your own, call the model and then `compute_loss` in the same thread: the loss is that of the
    last call with `training=True`.

    Weights, in order of the layers: `cell`, `embedding`, `jump` ($W_a, b_a$), `baseline` ($w_b, c_b$), `classifier`
    ($W_y, b_y$).

    Args:
        read: Positive integer, R, number of tokens to read between two jumps.
        max_jump: Positive integer, K, the longest jump.
        max_jumps: Positive integer, N, the largest number of jumps.
        inference: `"greedy"` (default) takes the most probable jump; `"sample"` draws it, as the paper does.
        policy_weight: Non-negative number, weight of the expected reward. Defaults to `1.0`.
        baseline_weight: Non-negative number, weight of the baseline's error. Defaults to `1.0`.
        entropy_weight: Non-negative number, weight of the entropy of $p(j_i \mid h_i)$, which training then also
            maximizes. Defaults to `0.0`, as in the paper.
        reward_trains_reader: Whether the expected reward also trains the embedding and the cell. Defaults to `False`.
        seed: Non-negative integer seed of the jumps, or `None` (default).
        **kwargs: As in `TextClassifier`: vocabulary_size, embedding_units, classes, units, cell, mask_zero, name,
            dtype, trainable.

    Call arguments:
        tokens: Integer tensor `[batch, time]`, padded at either end. Padding between tokens counts as a token that
            leaves the state unchanged.
        mask: Boolean tensor `[batch, time]`, `False` at additional padding. `None` (default) adds none.
        training: Whether to draw jumps, apply the dropout of the cell, and keep what `compute_loss` needs. Defaults to
            `False`.

    Output shape: `[batch, classes]`, probabilities.

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
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.read = _arguments.integer("read", read)
        self.max_jump = _arguments.integer("max_jump", max_jump)
        self.max_jumps = _arguments.integer("max_jumps", max_jumps)
        self.inference = _arguments.choice("inference", inference, ("greedy", "sample"))
        self.policy_weight = _arguments.number("policy_weight", policy_weight, minimum=0)
        self.baseline_weight = _arguments.number("baseline_weight", baseline_weight, minimum=0)
        self.entropy_weight = _arguments.number("entropy_weight", entropy_weight, minimum=0)
        self.reward_trains_reader = _arguments.boolean("reward_trains_reader", reward_trains_reader)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self.seed_generator = engine.SeedGenerator(seed)
        self.embedding = keras.layers.Embedding(
            self.vocabulary_size, self.embedding_units, name="embedding", dtype=self.dtype_policy
        )
        self.jump = self.make_dense(self.max_jump + 1, "jump")
        self.baseline = self.make_dense(1, "baseline")
        self.classifier = self.make_dense(self.classes, "classifier")
        self.tokens_read = keras.metrics.Mean(name="tokens_read")
        # Only the method: Keras would track a model as a layer of this one, and it holds this one itself.
        self._predict_paths = jumping.Paths(self).predict

    def build(self, input_shape):
        self.embedding.build(input_shape)
        if not self.cell.built:
            self.cell.build((input_shape[0], self.embedding_units))
        self._runner = CellRunner(self.cell, self.compute_dtype)
        for layer in (self.jump, self.baseline, self.classifier):
            layer.build((input_shape[0], any_cell.output_size(self.cell)))

    # Reading.

    def call(self, tokens, mask=None, training=False):
        tokens, mask = self.tokens_and_mask(tokens, mask)
        training = bool(training)
        run = self._runner.start(ops.shape(tokens)[0], training)
        path = self._find_path(tokens, mask, run)
        if training:
            # First the path, without gradients, then one pass over the tokens on it: the graph of a gradient through
            # every jump would grow with their number.
            outputs = self._follow(tokens, mask, path, run)
            episode, output = self._episode(outputs, path), outputs[-1]
        else:
            episode, output = jumping.Episode(path.counts), path.states[0]
        jumping.keep_episode(self, episode, training)
        return probabilities(self.classifier(output))

    def _find_path(self, tokens, mask, run):
        """Reads and jumps, without gradients, until every row has stopped."""
        batch_size, length = ops.shape(tokens)
        segments = self.max_jumps + 1
        # While a model is exported, an unknown length is a symbol on JAX and PyTorch.
        if isinstance(tokens.shape[1], int):
            segments = min(segments, -(-tokens.shape[1] // self.read))
        begin, end = jumping.bounds(mask)
        noise = self._noise(batch_size, segments - 1, run.training) if segments > 1 else None
        columns = ops.arange(0, segments - 1, dtype="int32")

        def body(k, next_token, jumps, *states):
            read, is_read = self._window(tokens, mask, ops.expand_dims(next_token, -1), end)
            _, states = self._scan(run, read, is_read, list(states))
            next_token = next_token + self.read
            logits = ops.cast(self.jump(states[0]), "float32")
            if noise is not None:
                logits = logits + ops.take(noise, ops.minimum(k, segments - 2), axis=1)
            # No jump is drawn in a row that has stopped, or after the last jump.
            draws = ops.logical_and(next_token < end, k < segments - 1)
            # Of booleans: the argmax of floats looks at the bits of a zero's sign, which no other format has.
            best = ops.cast(ops.equal(logits, ops.max(logits, axis=-1, keepdims=True)), "int32")
            jump = ops.where(draws, ops.cast(ops.argmax(best, axis=-1), "int32"), -1)
            jumps = ops.where(ops.equal(columns, k), ops.expand_dims(jump, -1), jumps)
            next_token = ops.where(jump > 0, next_token + jump - 1, ops.maximum(next_token, end))
            return (k + 1, next_token, jumps, *(ops.stop_gradient(state) for state in states))

        none = ops.zeros((batch_size, segments - 1), dtype="int32") - 1
        states = self._runner.initial_states(batch_size)
        start = (ops.convert_to_tensor(0, dtype="int32"), begin, none, *map(ops.stop_gradient, states))
        _, _, jumps, *states = engine.while_loop(
            lambda k, next_token, *_: ops.any(next_token < end), body, start, segments, self._runner.is_traceable
        )

        begin = ops.expand_dims(begin, -1)
        starts = begin + ops.cumsum(ops.maximum(jumps, 0) + self.read - 1, axis=1)
        starts = ops.concatenate([begin, ops.where(jumps > 0, starts, length)], axis=1)
        starts = ops.where(starts < ops.expand_dims(end, -1), starts, length)
        _, is_read = self._window(tokens, mask, starts, end)
        return jumping.Path(starts, jumps, ops.sum(ops.cast(is_read, "int32"), axis=1), end, states)

    def _follow(self, tokens, mask, path, run):
        """Returns the differentiable outputs after each segment of a path, `[segments, batch, units]`."""
        batch_size = ops.shape(tokens)[0]
        read, is_read = self._window(tokens, mask, path.starts, path.end)
        states = self._runner.initial_states(batch_size)
        outputs, _ = self._scan(run, read, is_read, states, return_sequences=True)
        return outputs[self.read - 1 :: self.read]

    def _window(self, tokens, mask, starts, end):
        """Returns the R tokens from each of `starts`, `[batch, segments]`, and a mask of those that are read."""
        batch_size, length = ops.shape(tokens)
        places = ops.expand_dims(starts, -1) + ops.arange(0, self.read, dtype="int32")
        places = ops.reshape(places, (batch_size, starts.shape[1] * self.read))
        inside = ops.minimum(places, length - 1)
        is_read = ops.logical_and(places < ops.expand_dims(end, -1), ops.take_along_axis(mask, inside, axis=1))
        return ops.take_along_axis(tokens, inside, axis=1), is_read

    def _scan(self, run, tokens, mask, states, return_sequences=False):
        """Reads tokens `[batch, steps]` from `states`; returns `(outputs of all steps or None, states)`."""
        vectors = self.embedding(ops.transpose(tokens))
        mask = ops.expand_dims(ops.transpose(mask), -1)
        _, outputs, states, _ = self._runner.scan(vectors, states, mask, run=run, return_sequences=return_sequences)
        return outputs, states

    def _noise(self, batch_size, draws, training):
        """Returns Gumbel noise `[batch, draws, max_jump + 1]`, which makes the argmax of logits a sample, or `None`."""
        if not (training or self.inference == "sample"):
            return None
        shape = (batch_size, draws, self.max_jump + 1)
        uniform = keras.random.uniform(shape, 1e-7, 1 - 1e-7, dtype="float32", seed=self.seed_generator)
        return -ops.log(-ops.log(uniform))

    def export(self, filepath: Any, format: str = "tf_saved_model", *args, **kwargs) -> None:
        """Exports the model as `keras.Model.export` does, for inference.

        Args:
            filepath, format, *args, **kwargs: As in `keras.Model.export`.

        Raises:
            ValueError: The jumps are drawn at random, and the file would hold no random generator.
        """
        if self.inference == "sample" and format != "tf_saved_model":
            raise ValueError(
                "LSTMJump with inference='sample' draws random numbers, and only a file of format='tf_saved_model', "
                "from TensorFlow or JAX, holds a random generator. Export it so, or make the model with "
                f"inference='greedy'. Received: format={format!r}"
            )
        super().export(filepath, format, *args, **kwargs)

    # The loss.

    def _episode(self, outputs, path):
        """Returns log-probabilities, entropies and baselines of a path, `[batch, draws]`."""
        h = ops.transpose(outputs[: path.jumps.shape[1]], (1, 0, 2))
        stopped = ops.stop_gradient(h)
        logits = self.jump(h if self.reward_trains_reader else stopped)
        log_p = ops.log_softmax(ops.cast(logits, "float32"))
        chosen = ops.one_hot(ops.maximum(path.jumps, 0), self.max_jump + 1, dtype="float32")
        return jumping.Episode(
            path.counts,
            log_p=ops.sum(chosen * log_p, axis=-1),
            entropy=-ops.sum(ops.exp(log_p) * log_p, axis=-1),
            baseline=ops.cast(self.baseline(stopped)[..., 0], "float32"),
            drawn=ops.cast(path.jumps >= 0, "float32"),
        )

    def test_step(self, *args, **kwargs):
        with jumping.expecting_episode(self):
            return super().test_step(*args, **kwargs)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        loss = super().compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=training)
        episode = jumping.take_episode(self)
        if episode is None:
            return loss
        self.tokens_read.update_state(ops.cast(episode.counts, "float32"))
        if episode.log_p is None:
            return loss
        terms = self.surrogate(episode, jumping.reward(y, y_pred))
        if sample_weight is not None:
            terms = terms * ops.reshape(ops.cast(sample_weight, terms.dtype), (-1,))
        return loss + ops.cast(ops.mean(terms), loss.dtype)

    def surrogate(self, episode, reward):
        """Returns the terms of the loss, one per sample, that train jumps and baseline."""
        reward = ops.expand_dims(reward, -1)
        advantage = ops.stop_gradient(reward - episode.baseline)
        terms = (
            -self.policy_weight * advantage * episode.log_p
            + self.baseline_weight * ops.square(reward - episode.baseline)
            - self.entropy_weight * episode.entropy
        )
        return ops.sum(episode.drawn * terms, axis=1)

    # Inspection.

    def read_positions(self, x: Tensor, batch_size: int = 32) -> jumping.Reading:
        """Returns where the model reads.

        Args:
            x: Array of tokens `[samples, time]`.
            batch_size: Positive integer. Defaults to `32`.

        Returns: A `Reading`.
        """
        _arguments.integer("batch_size", batch_size)
        x = np.asarray(x)
        starts, jumps, counts, end = self._predict_paths(x, batch_size=batch_size, verbose=0)
        places = starts[:, :, None] + np.arange(self.read)
        places = places.reshape(len(x), -1)
        is_read = np.zeros((len(x), x.shape[1] + 1), dtype=bool)
        np.put_along_axis(is_read, np.where(places < end[:, None], places, x.shape[1]), True, axis=1)
        return jumping.Reading(is_read[:, :-1] & (x != 0 if self.mask_zero else True), starts, jumps, counts)
