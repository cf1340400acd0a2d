"""Every threshold by which an engine chooses between ways to compute the same, with the measurement that it rests on.

All were measured on a CPU of two cores, unless they say otherwise; factors are speeds relative to the other way.
"""

# All backends.

# Steps that a gradient recomputes together; only the states between them are kept. Not measured: the square root of
# 256, which takes the least memory for as many steps.
RECOMPUTED_STEPS = 16
# Rows to assume where a graph does not know them: the default batch size of Keras.
UNKNOWN_ROWS = 32
# Backends on which cuDNN is faster than our loop, on a GPU: on an H100, with 256 units, 64 rows and 70 steps, its LSTM
# trains 3.6 times and its GRU 4.0 times as fast on PyTorch, its LSTM 0.66 times on JAX. TensorFlow was not measured.
CUDNN_BACKENDS = ("tensorflow", "torch")

# JAX and TensorFlow.

# Entries of a kernel for each number that a step keeps for it, from which the kernel's gradient is formed once for many
# steps: 1.1 to 1.4 times above, 0.8 to 0.95 times below.
BATCHED_GRADIENT_ENTRIES = 4.5
# Weights for each row, from which inputs are projected before the loop. XLA and TensorFlow run the two small products
# of a step side by side, which one product before the loop beats only if reading the weights takes longer than
# multiplying by them. JAX, training an LSTM: 0.9 times at 0.5 million weights and 20 rows or 8 million and 64; 1.1 to
# 1.4 times at 0.5 million and one to four rows or 8 million and 20. TensorFlow, predictions of an LSTM: 0.85 to 0.9
# times at 0.5 million and 20 or 64 rows; 1.2 times at 8 million and 20.
HOISTED_WEIGHTS_PER_ROW = 200_000

# JAX on a GPU, where launching kernels takes the time. Kernels a time step of a train step, which XLA launches on an
# H100, at 256 units and 20 rows (`benchmarks/gpu_programs.py`):
# - inputs projected before the loop, and the gradients of all weights formed once for all steps, against the choices
#   for a CPU: LSTM 18 and 23, GRU 18 and 22, Mogrifier 84 and 88, adaptive LSTM 56 and 61, low-rank GRU 37 and 37;
# - and a step that keeps its states and products as one tensor, against one for each of what its gradient takes: LSTM
#   14, GRU 15, Mogrifier 54, adaptive LSTM 39, low-rank GRU 28;
# - and four steps in each round of the loop, of which XLA merges what they read and write, against one: LSTM 7.25, GRU
#   8, Mogrifier 48, adaptive LSTM 27, low-rank GRU 19.5, for two to three times the time to compile. Eight: LSTM 6.1.
#   An H100 trains 1.02 (Mogrifier) to 1.07 times (LSTM) as fast with four as with one, at 256 units and 64 rows, and no
#   faster with eight. On a CPU, XLA computes more than once what it merges: an LSTM trains 0.85 times as fast, a
#   Mogrifier 0.65 times.
# - eight vanilla layers as a wavefront 46 (43 with one tensor), step by step 80, layer by layer 131.
GPU_UNROLLED_STEPS = 4
# Kernels of `schedule="persistent"`, which no GPU has run: rows that one program runs, the fewest that tensor cores
# multiply; the most entries of a tile along an axis; bytes of weights up to which they are read before the loop, into
# registers; threads, in warps of 32. Registers of a thread, of 255, that the gradient of an LSTM of 64 units takes on
# an H100: 102; 176 with four warps, 128 with tiles of 32, 236 with weights that are read in the loop. With 128 units,
# it spills 864 bytes; 3,488 with 16 warps, 16,016 with tiles of 32. The weights of 64 units, 64 kB, take 140 kB of
# shared memory, where an A100 has 163.
BLOCK_ROWS, TILE, RESIDENT_BYTES, KERNEL_WARPS = 16, 64, 65_536, 8
# Units up to which `"auto"` takes these kernels on a GPU, in training and in inference, by the class of the cell, as
# `make gpu` measures and writes them. None is known.
PERSISTENT_UNITS: dict[str, tuple[int, int]] = {}

# TensorFlow.

# In training, inputs are projected before the loop unless the weights stay in a core's cache and the rows are many:
# 0.93 times then, 1.05 times with more weights or fewer multiplications.
CACHED_WEIGHTS, FEW_MULTIPLICATIONS = 280_000, 5_000_000
# Steps whose products are formed together in the backward loop: enough rows for full speed.
BACKWARD_STEPS = 64
# Multiplications from which, and entries of a kernel up to which, a product is computed as two halves, as TensorFlow
# gives one product a single thread: 1.1 to 2 times; 0.85 times with more entries.
HALVED_MULTIPLICATIONS, HALVED_ENTRIES = 2_000_000, 200_000
# Layers from which a stack runs layer by layer. A graph runs products of several layers side by side, so step by step
# is 1.1 times as fast for 4 LSTMs of 256 units and 1.2 times for Mogrifiers, but half as fast for 36 and 144 vanilla
# layers, and slow to compile.
LAYERED_DEPTH = 12

# PyTorch.

# Entries of a kernel from which its gradient is formed once for many steps. Below, Mogrifiers of rank 64 train 1.2
# times as fast step by step at 128 units and 20 rows, 1.3 times at 256 units and one row. On a GPU, where launching
# operations takes the time, none is deferred: an H200 trains 1.05 (LSTM) to 1.27 times (adaptive LSTM) as fast without,
# at 256 units and 64 rows.
DEFERRED_GRADIENT_ENTRIES = 40_000
# Rows of one product at which the gradient of a kernel is formed at full speed; more only take memory.
GRADIENT_ROWS = 2048
# Entries of a kernel, and steps, from which reordering it for oneDNN pays, the rows (least, most) for which it does,
# and whose processors, as MKL is slow there. Over 35 steps of 20 rows on an AMD EPYC: 1.7 times at 1024 x 4096, 1.3 at
# 512 x 2048, 1 at 256 x 1024; with 1 or 64 rows 1. On an Intel Xeon 0.8, and with 8 rows 0.6.
REORDERED_ENTRIES, REORDERED_STEPS, REORDERED_ROWS, REORDERED_VENDOR = 1_000_000, 16, (8, 48), "AuthenticAMD"
# Steps from which tracing the first one pays: the second still checks the trace.
TRACED_STEPS = 3
# Shapes of arguments for which a traced function is kept.
TRACED_SHAPES = 16
# Calls with the same shapes from which a pass is captured as a CUDA graph, which takes as long as about six passes, and
# graphs that a layer keeps, each with the memory of a pass. Neither was measured.
GRAPH_CALLS, GRAPHS = 8, 4
# Layers from which, and multiplications of a layer up to which, a stack runs as a wavefront, whose batched products
# cost little more than one of them. Wavefront over layers: 36 layers of 128 units 2.4 with 8 rows and 1.2 with 32; 12
# LSTMs of 128 units and 8 rows 1.6, 4 of them 1.0; 36 layers of 256 units and 32 rows 0.9. In inference, shallower
# stacks of so few multiplications run step by step: 1.05 to 1.25 times the speed of layer by layer.
WAVEFRONT_DEPTH, WAVEFRONT_MULTIPLICATIONS = 8, 2_000_000


# Units up to which PyTorch's own operation runs a layer on a CPU, in training and in inference. Beside our loop over 35
# steps: LSTM of 64 to 256 units and 1 to 64 rows 1.2 to 2.8 times as fast, of 512 units 1.1 to 1.6 times, of 1024 units
# and one row 0.43 times in training. GRU of 64 and 128 units 1.2 to 2.2 times, of 256 units and one row 0.7 times in
# training and 1.5 times in inference, of 512 units and one row 0.4 and 0.9 times. Elman of 64 and 128 units 1.0 to 1.4
# times, of 256 units and one row 0.7 times in training and 1.1 times in inference.
NATIVE_UNITS = {"lstm": (512, 512), "gru": (128, 256), "rnn_tanh": (128, 256), "rnn_relu": (128, 256)}


def batches_gradient(kernel, rows):
    """Returns whether, on a CPU, the gradient of a kernel is faster to form once for many steps than in each step."""
    inputs, outputs = kernel.shape[-2:]
    return inputs * outputs >= BATCHED_GRADIENT_ENTRIES * rows * (inputs + outputs)
