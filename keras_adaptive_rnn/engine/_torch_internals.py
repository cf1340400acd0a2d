"""Private names of PyTorch that the engine uses, each with a fallback."""

import torch

from keras_adaptive_rnn._private import optional

# The depth of `torch.func` transforms such as `vmap` around a call. If it never stays the same, nothing is traced.
maybe_current_level = optional("torch._C._functorch.maybe_current_level", "time loops run slower", object)
# Whether a gradient is a batch of them, as with `is_grads_batched`.
is_batch = optional(
    "torch._C._functorch.is_legacy_batchedtensor", "gradients in batches fail on a GPU", lambda tensor: False
)
# Tells one backward pass from another.
current_backward_pass = optional("torch._C._current_graph_task_id", "training with large weights is slower")
# What `torch.nn.LSTM` and its like call, by the name of the operation.
recurrent_operations = {
    "lstm": optional("torch._VF.lstm", "LSTM layers are slower on a CPU"),
    "gru": optional("torch._VF.gru", "GRU layers are slower on a CPU"),
    "rnn_tanh": optional("torch._VF.rnn_tanh", "Elman layers are slower on a CPU"),
    "rnn_relu": optional("torch._VF.rnn_relu", "Elman layers are slower on a CPU"),
}
# The operators with which PyTorch's own compiler multiplies on a CPU.
reorder_weight = multiply_reordered = None
if torch.backends.mkldnn.is_available():
    reorder_weight = optional("torch.ops.mkldnn._reorder_linear_weight", "products with large weights are slower")
    multiply_reordered = optional("torch.ops.mkldnn._linear_pointwise", "products with large weights are slower")
# Sees the operations below autograd. Without it, capturing fails, and the loop runs.
TorchDispatchMode = optional(
    "torch.utils._python_dispatch.TorchDispatchMode", "loops on a GPU are not captured, and run slower", object
)
# A trace within another: PyTorch allows only one at a time.
tracing_state = optional("torch._C._get_tracing_state", "files of ONNX take sequences of one length")
set_tracing_state = optional("torch._C._set_tracing_state", "files of ONNX take sequences of one length")
