"""The names of PyTorch that the engine uses and that are not public, `None` where they are gone."""

import torch

from keras_adaptive_rnn._private import missing

try:
    # The depth of `torch.func` transforms such as `vmap` around a call.
    from torch._C._functorch import maybe_current_level
except ImportError:
    maybe_current_level = missing("torch._C._functorch.maybe_current_level", "time loops run slower")

try:
    # Tells one backward pass from another.
    from torch._C import _current_graph_task_id as current_backward_pass
except ImportError:
    current_backward_pass = missing("torch._C._current_graph_task_id", "training with large weights is slower")

# The operators with which PyTorch's own compiler multiplies on a CPU.
reorder_weight = multiply_reordered = None
if torch.backends.mkldnn.is_available():
    try:
        reorder_weight = torch.ops.mkldnn._reorder_linear_weight
        multiply_reordered = torch.ops.mkldnn._linear_pointwise
    except AttributeError:
        reorder_weight = missing("torch.ops.mkldnn._linear_pointwise", "products with large weights are slower")
