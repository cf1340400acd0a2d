"""Recurrent language models and text classifiers for KerasHub (needs `pip install "keras_adaptive_rnn[hub]"`)."""

try:
    import keras_hub  # noqa: F401
except ImportError as error:
    raise ModuleNotFoundError(
        f'`keras_adaptive_rnn.hub` needs KerasHub. Install it with: pip install "keras_adaptive_rnn[hub]" ({error})',
        name="keras_hub",
    ) from error

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.hub.backbone import RecurrentBackbone
from keras_adaptive_rnn.hub.causal_lm import RecurrentCausalLM
from keras_adaptive_rnn.hub.preprocessor import RecurrentCausalLMPreprocessor, RecurrentTextClassifierPreprocessor
from keras_adaptive_rnn.hub.presets import upload_preset
from keras_adaptive_rnn.hub.streams import streams
from keras_adaptive_rnn.hub.text_classifier import RecurrentTextClassifier
from keras_adaptive_rnn.hub.tokenizer import VocabularyTokenizer
from keras_adaptive_rnn.hub.tokens import write_tokens

__all__ = [
    "RecurrentBackbone",
    "RecurrentCausalLM",
    "RecurrentCausalLMPreprocessor",
    "RecurrentTextClassifier",
    "RecurrentTextClassifierPreprocessor",
    "VocabularyTokenizer",
    "streams",
    "upload_preset",
    "write_tokens",
]
__dir__ = directory(__all__)
