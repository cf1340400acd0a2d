"""KerasHub's own tests of a model, from its wheel, of the tokenizer, the preprocessors, the backbone and the tasks."""
# ruff: noqa: PT009, PT027

import keras
import pytest
from keras import ops

import keras_adaptive_rnn as kar

pytest.importorskip("keras_hub", minversion="0.32")
TestCase = pytest.importorskip("keras_hub.src.tests.test_case").TestCase
from keras_adaptive_rnn import hub  # noqa: E402

# Keras warns of what KerasHub's tests do, and of a `compile` of one's own, which each of its tasks has.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

TEXTS = ["the cat sat", "on the mat and on the log"]
# What KerasHub's tests take for granted and is otherwise on purpose: its check, and why.
DIFFERENCES = {
    # The words of KerasHub's tokenizers are split at punctuation, or in bytes; ours keep the text as it is.
    "expected_detokenize_output": "words come back with single spaces between them",
    # `float8` is for `keras.layers.Dense`; cells have integers only. KerasHub skips the whole test on PyTorch.
    "run_quantization_check": "cells keep what is quantized in their own configs, and know int8 and int4",
}


def tokenizer(split="character", **kwargs):
    return hub.VocabularyTokenizer.from_text(TEXTS, split=split, **kwargs)


def backbone_arguments(**kwargs):
    cells = [kar.MogrifierCell(8, rank=2), kar.LSTMCell(8)]
    # As configs: each model that a test makes has cells of its own.
    return {
        "vocabulary_size": tokenizer().vocabulary_size(),
        "embedding_dim": 8,
        "cells": [keras.saving.serialize_keras_object(cell) for cell in cells],
        **kwargs,
    }


def batch():
    return {"token_ids": ops.ones((2, 5), dtype="int32"), "padding_mask": ops.ones((2, 5), dtype="int32")}


class TokenizerTest(TestCase):
    def test_characters(self):
        arguments = {"vocabulary": tokenizer().get_vocabulary()}
        self.run_preprocessing_layer_test(hub.VocabularyTokenizer, arguments, TEXTS)

    def test_words(self):
        arguments = {"vocabulary": tokenizer("word").get_vocabulary(), "split": "word"}
        self.run_preprocessing_layer_test(
            hub.VocabularyTokenizer,
            arguments,
            ["the  cat sat", "on the mat"],
            expected_detokenize_output=["the cat sat", "on the mat"],
        )

    def test_special_tokens(self):
        made = tokenizer(start_token="<s>", end_token="</s>", pad_token="<pad>")
        self.assertEqual(made.special_tokens, ["<s>", "</s>", "<pad>"])
        self.assertEqual([made.id_to_token(k) for k in made.special_token_ids], made.special_tokens)
        for token in ("start_token", "end_token", "pad_token"):
            self.assertEqual(made.token_to_id(getattr(made, token)), getattr(made, f"{token}_id"))
        with self.assertRaises(ValueError):
            made.id_to_token(made.vocabulary_size())


class PreprocessorTest(TestCase):
    def setUp(self):
        super().setUp()
        self.init_kwargs = {"tokenizer": tokenizer(start_token="<s>", end_token="</s>"), "sequence_length": 12}

    def test_causal_lm(self):
        self.run_preprocessor_test(hub.RecurrentCausalLMPreprocessor, self.init_kwargs, TEXTS)

    def test_text_classifier(self):
        data = (TEXTS, [1, 0], [1.0, 1.0])
        self.run_preprocessor_test(hub.RecurrentTextClassifierPreprocessor, self.init_kwargs, data)

    def test_generation(self):
        preprocessor = hub.RecurrentCausalLMPreprocessor(**self.init_kwargs)
        preprocessor.build(None)
        made = preprocessor.generate_preprocess("the cat")
        self.assertEqual(int(ops.sum(ops.cast(made["padding_mask"], "int32"))), 1 + len("the cat"))
        made = {name: ops.convert_to_numpy(x) for name, x in made.items()}
        self.assertEqual(preprocessor.generate_postprocess(made), "the cat")


class BackboneTest(TestCase):
    def test_basics(self):
        self.run_backbone_test(
            hub.RecurrentBackbone, backbone_arguments(), batch(), (2, 5, 8), run_quantization_check=False
        )

    def test_bidirectional(self):
        arguments = backbone_arguments(bidirectional=True)
        self.run_backbone_test(hub.RecurrentBackbone, arguments, batch(), (2, 5, 16), run_quantization_check=False)

    def test_saved_model(self):
        self.run_model_saving_test(hub.RecurrentBackbone, backbone_arguments(), batch())

    def test_int8(self):
        backbone = hub.RecurrentBackbone(**backbone_arguments())
        with pytest.warns(UserWarning, match="does not have a `quantize` method"):
            backbone.quantize("int8")
        config = backbone.get_config()
        revived = hub.RecurrentBackbone.from_config(config)
        self.assertEqual(revived.get_config(), config)
        revived.set_weights(backbone.get_weights())
        self.assertAllClose(revived(batch()), backbone(batch()))


class TaskTest(TestCase):
    def test_causal_lm(self):
        preprocessor = hub.RecurrentCausalLMPreprocessor(tokenizer(), sequence_length=8)
        arguments = {"backbone": hub.RecurrentBackbone(**backbone_arguments()), "preprocessor": preprocessor}
        shape = (2, 8, preprocessor.tokenizer.vocabulary_size())
        self.run_task_test(hub.RecurrentCausalLM, arguments, (TEXTS,), shape)

    def test_text_classifier(self):
        preprocessor = hub.RecurrentTextClassifierPreprocessor(tokenizer(), sequence_length=8)
        arguments = {
            "backbone": hub.RecurrentBackbone(**backbone_arguments()),
            "num_classes": 2,
            "preprocessor": preprocessor,
        }
        self.run_task_test(hub.RecurrentTextClassifier, arguments, (TEXTS, [1, 0]), (2, 2))

    def test_saved_models(self):
        for cls, more in ((hub.RecurrentCausalLM, {}), (hub.RecurrentTextClassifier, {"num_classes": 2})):
            arguments = {"backbone": hub.RecurrentBackbone(**backbone_arguments()), **more}
            self.run_model_saving_test(cls, arguments, batch())

    def test_generation(self):
        preprocessor = hub.RecurrentCausalLMPreprocessor(tokenizer(), sequence_length=16)
        lm = hub.RecurrentCausalLM(hub.RecurrentBackbone(**backbone_arguments()), preprocessor)
        self.assertIsInstance(lm.generate("the"), str)
        lm.preprocessor = None
        ids = {name: ops.convert_to_numpy(x) for name, x in batch().items()}
        ids["padding_mask"][:, 3:] = 0
        self.assertEqual(lm.generate(ids, stop_token_ids=None)["token_ids"].shape, (2, 5))


class PresetTest(TestCase):
    def test_preset(self):
        preprocessor = hub.RecurrentCausalLMPreprocessor(tokenizer(), sequence_length=8)
        lm = hub.RecurrentCausalLM(hub.RecurrentBackbone(**backbone_arguments()), preprocessor)
        folder = self.get_temp_dir()
        lm.save_to_preset(folder)
        self.run_preset_test(hub.RecurrentCausalLM, folder, batch(), expected_output=lm(batch()))
        self.run_preset_test(hub.RecurrentBackbone, folder, batch(), expected_output=lm.backbone(batch()))
        self.run_preset_test(hub.VocabularyTokenizer, folder, TEXTS, expected_output=preprocessor.tokenizer(TEXTS))
