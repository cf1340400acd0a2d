"""Layers that are an `RNN` around a cell of their own, and take the arguments of both."""

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.mogrifier import MogrifierCell
from keras_adaptive_rnn.cells.multiplicative import MultiplicativeLSTMCell
from keras_adaptive_rnn.layers.rnn import RNN

RNN_ARGUMENTS = {name: p for name, p in _arguments.parameters(RNN).items() if name != "cell"}


class CellLayer(RNN):
    """An `RNN` that makes its own cell. A subclass names it: `cell_class = MogrifierCell`.

    Every argument of the cell is an attribute of the layer too, but for one called `cell`: `layer.cell` is the cell of
    the layer.
    """

    cell_class = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.__signature__ = _arguments.signature(cls.cell_class.accepted_arguments(), RNN_ARGUMENTS)
        for name in _arguments.parameters(cls.cell_class):
            if name != "cell":
                setattr(cls, name, property(lambda self, name=name: getattr(self.cell, name)))

    def __init__(self, *args, activity_regularizer=None, **kwargs):
        _arguments.reject_unknown(type(self), kwargs, type(self).__signature__.parameters)
        loop = {name: kwargs.pop(name) for name in RNN_ARGUMENTS if name in kwargs}
        layer = {name: kwargs.pop(name) for name in _arguments.LAYER_ARGUMENTS if name in kwargs}
        shared = {name: value for name, value in layer.items() if name != "name"}
        super().__init__(
            type(self).cell_class(*args, **kwargs, **shared), activity_regularizer=activity_regularizer, **loop, **layer
        )

    def get_config(self):
        config = super().get_config()
        del config["cell"]
        cell = {k: v for k, v in self.cell.get_config().items() if k not in _arguments.LAYER_ARGUMENTS}
        return {**config, **cell}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


@export
class Mogrifier(CellLayer):
    """The Mogrifier (Melis et al., 2020) as a layer: `RNN(MogrifierCell(...))`, in the place of `keras.layers.LSTM`.

    Args:
        units, rounds, rank, ...: All arguments of `keras_adaptive_rnn.MogrifierCell`, equations there.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask: As in
            `keras_adaptive_rnn.layers.RNN`.
        name, dtype, trainable, activity_regularizer: As in `keras.layers.Layer`.

    Call arguments and output shape: As in `keras_adaptive_rnn.layers.RNN`; the states are $h$ and $c$.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Mogrifier(8, rounds=5, rank=2, return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    cell_class = MogrifierCell


@export
class MultiplicativeLSTM(CellLayer):
    """The multiplicative LSTM (Krause et al., 2016) as a layer: `RNN(MultiplicativeLSTMCell(...))`.

    Args:
        units, core, factor_bias, ...: All arguments of `keras_adaptive_rnn.MultiplicativeLSTMCell`, equations there.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask: As in
            `keras_adaptive_rnn.layers.RNN`.
        name, dtype, trainable, activity_regularizer: As in `keras.layers.Layer`.

    Call arguments and output shape: As in `keras_adaptive_rnn.layers.RNN`; the states are $h$ and $c$.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MultiplicativeLSTM(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    cell_class = MultiplicativeLSTMCell
