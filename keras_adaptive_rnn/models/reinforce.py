"""REINFORCE for cells that draw decisions, inside any model."""

from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.any_cell import parts_of
from keras_adaptive_rnn.loop import decisions
from keras_adaptive_rnn.models import jumping


@export
class Reinforce(_arguments.DeclaredArguments, keras.Model):
    r"""Trains a model whose cells draw decisions, such as `SkimCell(estimator="reinforce")`, by REINFORCE.

    It minimizes the expected loss $\mathbb{E}_Q[L(\theta; Q)] = \sum_Q P_\theta(Q) L(\theta; Q)$, where $Q$ are all
    decisions for a sample. An unbiased estimate of its gradient, from one draw for each of the $B$ samples of a batch,
    is

    $$\frac{1}{B} \sum_i \nabla L_i + (L_i - b_i) \nabla \log P_\theta(Q_i), \qquad
      b_i = \frac{1}{B - 1} \sum_{j \ne i} L_j$$

    where $L_i$ is the loss of sample $i$ with what its decisions add, such as `skim_loss`. The baseline $b_i$ lowers
    the variance; for a batch of one, it is zero. In inference, this is the given model.

    In a training loop of your own, call the model and then `compute_loss` in the same thread: the loss is that of the
    last call with `training=True`.

    Args:
        model: A `keras.Model` with a single output and at least one cell that draws decisions.
        name, dtype, trainable: As in `keras.Model`.

    Example:

    >>> cell = keras_adaptive_rnn.SkimCell(keras.layers.GRUCell(8), keras.layers.GRUCell(2), estimator="reinforce")
    >>> model = keras.Sequential([keras_adaptive_rnn.layers.RNN(cell), keras.layers.Dense(1)])
    >>> model = keras_adaptive_rnn.models.Reinforce(model)
    >>> model.compile("adam", "mse")
    >>> history = model.fit(np.ones((4, 5, 3)), np.ones((4, 1)), verbose=0)
    >>> model.predict(np.ones((4, 5, 3)), verbose=0).shape
    (4, 1)

    Reference: Williams, Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning
    (1992), section 4; for Skim-RNN: Seo, Min, Farhadi, Hajishirzi, Neural Speed Reading via Skim-RNN (2018), section
    3.2.
    """

    def __init__(self, model: Any, **kwargs):
        super().__init__(**kwargs)
        if isinstance(model, dict):
            model = keras.saving.deserialize_keras_object(model)
        if not isinstance(model, keras.Model):
            raise TypeError(f"Argument `model` must be a `keras.Model`. Received: model={model!r}")
        draws = any(getattr(part, "draws_decisions", False) for part in parts_of(model))
        rule = 'Argument `model` must have a cell that draws decisions, such as `SkimCell(estimator="reinforce")`'
        _arguments.check(draws, rule, model=model)
        self.model = model

    def build(self, input_shape):
        if not self.model.built:
            self.model.build(input_shape)

    def call(self, inputs, training=False):
        with decisions.collecting_episodes() as episodes:
            outputs = self.model(inputs, training=training)
        if training:
            jumping.keep_episode(self, episodes, training)
        return outputs

    def compute_output_shape(self, input_shape):
        return self.model.compute_output_shape(input_shape)

    def compile(self, optimizer: Any = "rmsprop", loss: Any = None, loss_weights: Any = None, **kwargs) -> None:
        """Configures the model for training, as `keras.Model.compile` does.

        Args:
            optimizer, **kwargs: As in `keras.Model.compile`.
            loss: A single loss, averaged over the batch: a name, a function or a `keras.losses.Loss`.
            loss_weights: Must be `None`.
        """
        is_single = isinstance(loss, str) or callable(loss)
        averages = getattr(loss, "reduction", "sum_over_batch_size") == "sum_over_batch_size"
        if not is_single or not averages or loss_weights is not None:
            raise ValueError(
                "Argument `loss` must be a single loss, averaged over the batch (reduction='sum_over_batch_size'), and "
                f"`loss_weights` must be None. Received: loss={loss!r}, loss_weights={loss_weights!r}"
            )
        super().compile(optimizer, loss, **kwargs)
        self._loss_of_samples = LossOfSamples(keras.losses.get(loss))

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            # A file holds its variables.
            self.optimizer.build(self.trainable_variables)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        loss = super().compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=training)
        episodes = jumping.take_episode(self)
        if not episodes:
            return loss
        of_samples = ops.cast(self._loss_of_samples(y, y_pred, sample_weight), "float32")
        of_samples = ops.mean(ops.reshape(of_samples, (ops.shape(of_samples)[0], -1)), axis=1)
        costs = ops.stop_gradient(of_samples + sum(episode.loss for episode in episodes))
        others = ops.maximum(ops.shape(costs)[0] - 1, 1)
        baselines = (ops.sum(costs) - costs) / ops.cast(others, "float32")
        log_likelihood = sum(episode.log_likelihood for episode in episodes)
        return loss + ops.cast(ops.mean((costs - baselines) * log_likelihood), loss.dtype)


class LossOfSamples(keras.losses.Loss):
    """A loss that is not averaged over the batch."""

    def __init__(self, loss):
        super().__init__(reduction=None)
        self.loss = getattr(loss, "call", loss)

    def call(self, y, y_pred):
        # As Keras does around functions.
        has_one_axis_less = len(y.shape) == len(y_pred.shape) - 1 and y_pred.shape[-1] == 1
        return self.loss(ops.expand_dims(y, -1) if has_one_axis_less else y, y_pred)
