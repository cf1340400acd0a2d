"""A learning rate that falls with a power of time."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export


@export
class InversePowerDecay(keras.optimizers.schedules.LearningRateSchedule):
    r"""The learning rate of ASGD, which falls with a power of time.

    $$\eta_n = \frac{\eta_0}{(1 + r\, n / d)^\alpha}$$

    at step $n = 0, 1, \dots$ With `power=1`, it is `keras.optimizers.schedules.InverseTimeDecay`. In ASGD, $d = 1$ and
    $r = \lambda \eta_0$, where $\lambda$ is the weight decay: `keras_adaptive_rnn.optimizers.Averaged` has an example.

    Args:
        initial_learning_rate: Non-negative number, $\eta_0$.
        decay_steps: Positive number, $d$.
        decay_rate: Non-negative number, $r$.
        power: Non-negative number, $\alpha$. Defaults to `0.75`.

    Call arguments:
        step: Integer $n$.

    Returns: A scalar, $\eta_n$.

    Raises:
        ValueError: An argument is out of range.
        TypeError: An argument is of the wrong type.

    Example:

    >>> schedule = keras_adaptive_rnn.optimizers.InversePowerDecay(8.0, decay_steps=1, decay_rate=5.0, power=2)
    >>> [float(schedule(n)) for n in (0, 3)]
    [8.0, 0.03125]

    Reference: Xu, Towards Optimal One Pass Large Scale Learning with Averaged Stochastic Gradient Descent (2011).
    """

    def __init__(self, initial_learning_rate: float, decay_steps: float, decay_rate: float, power: float = 0.75):
        super().__init__()
        self.initial_learning_rate = _arguments.number("initial_learning_rate", initial_learning_rate, minimum=0)
        self.decay_steps = _arguments.number("decay_steps", decay_steps, positive=True)
        self.decay_rate = _arguments.number("decay_rate", decay_rate, minimum=0)
        self.power = _arguments.number("power", power, minimum=0)

    def __call__(self, step):
        # In half precision, there are not many steps.
        elapsed = ops.cast(step, "float32") / self.decay_steps
        return self.initial_learning_rate / ops.power(1 + self.decay_rate * elapsed, self.power)

    def get_config(self):
        names = "initial_learning_rate", "decay_steps", "decay_rate", "power"
        return {name: getattr(self, name) for name in names}
