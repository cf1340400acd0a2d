"""Layers that let cuDNN run their loop, as Keras's layers of the same names do."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, activations, maps
from keras_adaptive_rnn._keras import cudnn_loop, is_exporting
from keras_adaptive_rnn.cells import LSTMCell
from keras_adaptive_rnn.cells.bases import native
from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.layers.cell_layer import CellLayer

# Arguments of our cells at which they compute what cuDNN computes.
OF_CUDNN = {
    "activation": activations.get("tanh"),
    "use_bias": True,
    **native.ARGUMENTS,
    **native.IN_TRAINING,
}
# Modules of Keras that write files, which run where there is no cuDNN.
EXPORTS = ("litert", "onnx", "openvino", "saved_model", "torch")
OF_LAYER = {"unroll": False, "recompute": False, "schedule": "auto"}


class FusedLayer(CellLayer):
    """A layer that runs on cuDNN where Keras's layer of the same name does, and accepts its arguments.

    Args:
        use_cudnn: Whether cuDNN runs the loop. `"auto"` (default) does so on a GPU wherever it computes the same: with
            tanh and sigmoid, a bias, dense weights that are not quantized, no `recurrent_dropout`, and none of the
            options that Keras's layer has not; no `unroll`, `recompute` or `schedule`; not for a masked sequence, and
            not in a file that is exported. On JAX, `"auto"` never does, as our loop is faster there. `False` never
            does. With `True`, the layer raises a `ValueError` where cuDNN cannot run it.
    """

    ignored_arguments = LSTMCell.ignored_arguments

    def __init__(self, *args, use_cudnn: bool | str = "auto", **kwargs):
        fits = isinstance(use_cudnn, bool) or use_cudnn == "auto"
        _arguments.check(fits, "Argument `use_cudnn` must be 'auto', True or False, as in Keras", use_cudnn=use_cudnn)
        super().__init__(*args, **kwargs)
        self.use_cudnn = use_cudnn
        if keras.backend.backend() == "tensorflow" and self._cudnn() is not None:
            # XLA compiles no operation of cuDNN.
            self.supports_jit = False

    def build(self, sequences_shape, initial_state_shape=None):
        super().build(sequences_shape, initial_state_shape)
        if self.use_cudnn is not True:
            return
        reason = self._beyond_cudnn()
        if reason is None and self._cudnn() is None:
            reason = "Keras has no cuDNN here: there is no GPU, or this version or backend does not use it"
        advice = "Pass `use_cudnn='auto'` or `use_cudnn=False`"
        rule = f"Layer '{self.name}' cannot run with `use_cudnn=True`: {reason}. {advice}"
        _arguments.check(reason is None, rule, use_cudnn=True)

    def _beyond_cudnn(self):
        """Returns the reason why cuDNN cannot run the layer, or `None`."""
        cell = self.cell
        if type(cell) is not type(self).cell_class:
            return "cuDNN runs a single layer of this cell"
        for owner, needed in ((cell, OF_CUDNN), (self, OF_LAYER)):
            name = native.unmet(owner, needed)
            if name is not None:
                return f"cuDNN has no {name}={getattr(owner, name)!r}"
        for name in ("kernel_map", "recurrent_map"):
            linear_map = getattr(cell, name)
            if not isinstance(linear_map, maps.Full) or linear_map.quantization_mode:
                return f"cuDNN reads dense weights, and {name} is {linear_map!r}"
        if keras.backend.backend() == "jax":
            if hasattr(cell, "reset_after"):
                return "JAX has no GRU on cuDNN"
            if cell.compute_dtype != "float32":
                return f"JAX has cuDNN for float32 only, and the layer computes in {cell.compute_dtype}"
        return None

    def _cudnn(self, sequences=None):
        """Returns Keras's function that runs cuDNN, or `None` if it cannot run the layer."""
        is_slower = keras.backend.backend() not in tuning.CUDNN_BACKENDS
        if self.use_cudnn is False or (self.use_cudnn == "auto" and is_slower):
            return None
        loop = cudnn_loop(type(self).cell_class.__name__.removesuffix("Cell").lower(), sequences)
        return None if loop is None or self._beyond_cudnn() is not None else loop

    def _run(self, sequences, initial_state, mask, resets, training):
        fused = self._cudnn(sequences)
        if fused is not None and (sequences.shape[1] == 0 or is_exporting(*EXPORTS)):
            fused = None
        beyond = {"a mask": mask, "resets": resets}
        beyond = [f"{name} of shape {tuple(value.shape)}" for name, value in beyond.items() if value is not None]
        if fused is None or beyond:
            if self.use_cudnn is True and beyond:
                raise ValueError(
                    f"Layer '{self.name}' cannot run a sequence with a mask or resets with `use_cudnn=True`: "
                    f"`use_cudnn='auto'` runs it in a loop. Received: {' and '.join(beyond)}"
                )
            return super()._run(sequences, initial_state, mask, resets, training)
        cell, sequences = self.cell, self.runner.cast_inputs(sequences)
        if training and cell.dropout:
            run = self.runner.start(ops.shape(sequences)[0], training)
            sequences = ops.swapaxes(cell.drop(ops.swapaxes(sequences, 0, 1), "dropout", run), 0, 1)
        if self.go_backwards:
            # Keras's functions do not agree on the order of the outputs: that of JAX reverses them.
            sequences = ops.flip(sequences, axis=1)
        given = {"reset_after": True} if hasattr(cell, "reset_after") else {}
        last_output, outputs, states = fused(
            sequences,
            *initial_state,
            None,
            kernel=cell.kernel,
            recurrent_kernel=cell.recurrent_kernel,
            bias=cell.bias,
            activation=keras.activations.tanh,
            recurrent_activation=keras.activations.sigmoid,
            return_sequences=self.return_sequences,
            go_backwards=False,
            unroll=False,
            **given,
        )
        return last_output, outputs if self.return_sequences else None, list(states), []
