"""Times and memory of the library beside those of others; `README.md` says how."""

# What a table calls a contender, in its order.
NAMES = {
    "ours": "ours",
    "graph": "ours, CUDA graph",
    "recompute": "ours, recompute",
    "persistent": "ours, one kernel",
    "keras_plain": "plain cell",
    "keras_layer": "Keras layer",
    "keras": "our cell",
    "keras_alone": "Keras alone",
    "keras_lstm": "Keras LSTM",
    "keras_model": "Keras model",
    "keras_compiled": "Keras RNN, compiled",
    "plain": "PyTorch loop",
    "torchrecurrent": "torchrecurrent",
    "torch_lstm": "PyTorch LSTM",
    "flashrnn": "FlashRNN",
    "products": "products",
}
OF_PYTORCH = ("plain", "torchrecurrent", "torch_lstm", "flashrnn")
