"""The plain mean of the weights that an optimizer passes through."""

import types
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export

PREFIX = "note_"


@export
class Averaged(keras.optimizers.Optimizer):
    r"""Takes the steps of any optimizer, and keeps the mean of the weights after each of them.

    $$\bar w_n = \bar w_{n-1} + \frac{w_n - \bar w_{n-1}}{\max(1, n - s)}$$

    where $n$ counts the steps since averaging was switched on. The steps themselves do not change: training goes on
    from the raw weights $w$. There are two ways to start:

    - Averaging is off at first. The callback `AveragingTrigger` switches it on and evaluates with the averages; a loop
      of your own assigns 1 to `optimizer.averaging`, and calls `optimizer.swap()`. $s$ is `skip`.
    - With `start`, it is on from the first step, and $s$ is `start + skip`. After `fit`, call `optimizer.swap()`.

    Around `keras.optimizers.SGD` this is ASGD. `torch.optim.ASGD(params, lr, lambd, alpha, t0, weight_decay)` is

    ```python
    rate = keras_adaptive_rnn.optimizers.InversePowerDecay(lr, decay_steps=1, decay_rate=lambd * lr, power=alpha)
    sgd = keras.optimizers.SGD(rate, weight_decay=lambd + weight_decay)
    optimizer = keras_adaptive_rnn.optimizers.Averaged(sgd, skip=1, start=t0)
    ```

    It is not with `gradient_accumulation_steps`: Keras's schedules, this one too, count the steps that only accumulate.

    Variables: those of every Keras optimizer, here unused; `averaging`, whether steps are averaged (0 or 1); `count`,
    $n$; `swapped`, whether the model holds the averages (0 or 1); the averages, one for each trainable weight; then the
    variables of the optimizer inside.

    Args:
        optimizer: A `keras.optimizers.Optimizer`, or its name or config. Learning rate, clipping, weight decay and all
            else is set there. With `gradient_accumulation_steps`, steps that only accumulate do not count. A
            `keras.optimizers.LossScaleOptimizer` goes around `Averaged`, where `compile` puts it.
        skip: Non-negative integer, steps at the start that the mean leaves out. Defaults to `0`: every step counts.
            With `1` it is the mean of `torch.optim.ASGD`.
        start: Non-negative integer, the number of steps after which the mean begins; until then, it is the latest
            weights. With `None` (default), it begins where averaging is switched on.
        name: String, or `None` (default).

    Raises:
        ValueError: `optimizer` is not understood, or wraps another one; `skip` or `start` is negative.
        TypeError: `skip` or `start` is not an integer.

    Example:

    >>> optimizer = keras_adaptive_rnn.optimizers.Averaged(keras.optimizers.SGD(0.5))
    >>> w = keras.Variable([8.0])
    >>> optimizer.build([w])
    >>> on = optimizer.averaging.assign(1)
    >>> for _ in range(3):
    ...     optimizer.apply([w.value])  # The gradient of w ** 2 / 2.
    >>> optimizer.swap()
    >>> keras.ops.convert_to_numpy(w).round(3)  # The mean of 4, 2 and 1.
    array([2.333], dtype=float32)

    Reference: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging (1992); Merity, Keskar and
    Socher, Regularizing and Optimizing LSTM Language Models (2018), section 3.
    """

    def __init__(
        self,
        optimizer: keras.optimizers.Optimizer | str | dict,
        skip: int = 0,
        start: int | None = None,
        name: str | None = None,
    ):
        inner = _arguments.resolve("optimizer", optimizer, keras.optimizers.get)
        if not isinstance(inner, keras.optimizers.Optimizer) or hasattr(inner, "inner_optimizer"):
            raise ValueError(
                "Argument `optimizer` must be an optimizer that wraps no other: a `LossScaleOptimizer` goes around "
                f"`Averaged`, not inside. Received: optimizer={optimizer!r}"
            )
        skip = _arguments.integer("skip", skip, minimum=0)
        start = _arguments.integer("start", start, minimum=0, optional=True)
        super().__init__(learning_rate=0.0, name=name)
        self.inner_optimizer, self.skip, self.start = inner, skip, start
        # A plain object, which neither Keras nor TensorFlow tracks.
        self._saved = types.SimpleNamespace(notes={})
        # Made here, so that averaging can be switched on before the optimizer is built.
        self.averaging, self.count, self.swapped = (
            self.add_variable((), aggregation="only_first_replica", name=variable)
            for variable in ("averaging", "count", "swapped")
        )
        self.averages: list = []
        self.restart()

    def restart(self) -> None:
        """Forgets all averages, as if no step had been taken."""
        self.averaging.assign(0 if self.start is None else 1)
        self.count.assign(0)
        self.swapped.assign(0)

    @property
    def notes(self) -> dict[str, np.ndarray]:
        """Arrays by name that are saved and loaded with the optimizer: what a callback must know after a restart."""
        return self._saved.notes

    def build(self, variables: list[Any]) -> None:
        self.inner_optimizer.build(variables)
        super().build(variables)
        self.averages = self.add_optimizer_variables(variables, "average")

    def apply(self, grads: list[Any], trainable_variables: list[Any] | None = None) -> None:
        if not self.built:
            if trainable_variables is None:
                raise ValueError("Call `build(trainable_variables)` first, or give `apply` the variables.")
            self.build(list(trainable_variables))
        inner = self.inner_optimizer
        before = inner.iterations if inner.gradient_accumulation_steps else None
        inner.apply(grads, trainable_variables)
        step = self.averaging.value
        if before is not None:
            # Accumulated gradients change the weights, and this count, in some of the calls only.
            step = step * ops.cast(inner.iterations != before, step.dtype)
        count = self.count.value + step
        self.count.assign(count)
        share = step / ops.maximum(count - self.skip - (self.start or 0), 1)
        for weight, average in self._pairs():
            # Without `where`, a weight that is not finite would stay in the average for ever.
            old, share_of = average.value, ops.cast(share, average.dtype)
            average.assign(ops.where(step > 0, old + (weight.value - old) * share_of, old))

    def _pairs(self):
        """Returns the weights and their averages; a weight that its gradient overwrites has none."""
        return [(w, a) for w, a in zip(self._trainable_variables, self.averages, strict=True) if a is not None]

    def swap(self) -> None:
        """Exchanges the weights of the model with their averages; a second call puts the weights back, bit for bit.

        Raises:
            ValueError: No step has been averaged.
        """
        if not self.built or not ops.convert_to_numpy(self.count.value):
            raise ValueError("`swap` needs averages: set `averaging` to 1 and train for a step first.")
        for weight, average in self._pairs():
            # By way of copies: JAX may hand the memory of either to the next step, and PyTorch's arrays are views.
            raw, mean = (np.array(ops.convert_to_numpy(variable.value)) for variable in (weight, average))
            weight.assign(mean)
            average.assign(raw)
        self.swapped.assign(1 - self.swapped)

    @property
    def variables(self):
        return self._variables + self.inner_optimizer.variables

    # Keras reads these from any optimizer: they are those of the one inside.

    @property
    def iterations(self):
        return self.inner_optimizer.iterations

    @property
    def learning_rate(self):
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value):
        self.inner_optimizer.learning_rate = value

    @property
    def loss_scale_factor(self):
        return self.inner_optimizer.loss_scale_factor

    @loss_scale_factor.setter
    def loss_scale_factor(self, value):
        # The constructor of the base class sets it, too.
        if hasattr(self, "inner_optimizer"):
            self.inner_optimizer.loss_scale_factor = value

    def scale_loss(self, loss):
        return self.inner_optimizer.scale_loss(loss)

    def finalize_variable_values(self, var_list):
        self.inner_optimizer.finalize_variable_values(var_list)

    # Files.

    def save_own_variables(self, store):
        super().save_own_variables(store)
        for name, array in self.notes.items():
            store[PREFIX + name] = array

    def load_own_variables(self, store):
        names = list(store.keys())
        super().load_own_variables({name: store[name] for name in names if not name.startswith(PREFIX)})
        self.notes.clear()
        self.notes.update({n.removeprefix(PREFIX): np.array(store[n]) for n in names if n.startswith(PREFIX)})

    def get_config(self):
        optimizer = keras.saving.serialize_keras_object(self.inner_optimizer)
        return {"optimizer": optimizer, "skip": self.skip, "start": self.start, "name": self.name}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        optimizer = keras.saving.deserialize_keras_object(config["optimizer"], custom_objects=custom_objects)
        return cls(**{**config, "optimizer": optimizer})
