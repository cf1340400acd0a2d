"""Language models and classifiers of KerasHub over the cells: what they read, write, learn and save."""

import io
import json
import math
import pathlib
import subprocess
import sys
import threading
from functools import partial
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

import keras_adaptive_rnn as kar
from tests import table
from tests.backends import alternating, in_turns, nightly
from tests.frozen.freeze import PRESET

keras_hub = pytest.importorskip("keras_hub", minversion="0.32")
from keras_adaptive_rnn import hub  # noqa: E402
from keras_adaptive_rnn._hub_options import parse  # noqa: E402
from keras_adaptive_rnn.hub.__main__ import main  # noqa: E402
from keras_adaptive_rnn.hub.command_line import begin  # noqa: E402
from keras_adaptive_rnn.hub.presets import TRAINED  # noqa: E402
from keras_adaptive_rnn.hub.streams import fit_rounds  # noqa: E402

pytestmark = alternating

TEXT = "the cat sat on the mat, and the dog sat on the log. " * 20
CELLS = {name: row.make for name, row in table.CELL_ROWS.items()}
SAMPLERS = ("greedy", "top_k", "top_p", "random", "beam", "contrastive")


def make_lm(cells=None, sampler="greedy", split="character", sequence_length=24, **kwargs):
    """Returns a language model of random weights, large enough that its choices are clear."""
    tokenizer = hub.VocabularyTokenizer.from_text(TEXT, split=split)
    cells = [kar.MogrifierCell(8, rank=2), kar.LSTMCell(8)] if cells is None else cells
    backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 8, cells, **kwargs)
    lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length))
    rng = np.random.default_rng(0)
    for variable in lm.trainable_variables:
        variable.assign(variable + rng.normal(scale=0.5, size=variable.shape))
    lm.compile(keras.optimizers.SGD(0.1), sampler=sampler)
    return lm


def make_projected_lm(**kwargs):
    """Returns one whose last output is larger than its embedding."""
    return make_lm([kar.MogrifierCell(10, rank=2), kar.LSTMCell(12)], **kwargs)


def logits_of(lm, ids):
    ids = np.atleast_2d(np.asarray(ids, "int32"))
    return ops.convert_to_numpy(lm({"token_ids": ids, "padding_mask": np.ones_like(ids)}))


def naive(lm, prompt, length):
    """Returns greedy text, for which the whole model runs again for every token."""
    tokenizer = lm.preprocessor.tokenizer
    ids, model = tokenizer(prompt).tolist(), keras.Model(lm.input, lm.output)
    # At one length, padded on the right, so that it is compiled once.
    row, mask = np.zeros((1, length), "int32"), np.zeros((1, length), "int32")
    row[0, : len(ids)], mask[0, : len(ids)] = ids, 1
    for k in range(len(ids), length):
        row[0, k] = model.predict_on_batch({"token_ids": row, "padding_mask": mask})[0, k - 1].argmax()
        mask[0, k] = 1
    return tokenizer.detokenize(row[0])


@pytest.mark.parametrize("make", [make_lm, make_projected_lm])
def test_single_steps_compute_the_same_logits(make):
    lm = make(embedding_dropout=0.2, output_dropout=0.2)
    ids = lm.preprocessor.tokenizer("the cat")
    step = kar.step_model(lm)
    states = {name: np.zeros(x.shape, "float32") for name, x in step.input.items() if name.startswith("state_")}
    for token, logits in zip(ids, logits_of(lm, ids)[0], strict=True):
        outputs = step.predict_on_batch({"token_ids": np.array([token]), "padding_mask": np.ones(1, "int32"), **states})
        np.testing.assert_allclose(outputs["output"][0], logits, atol=1e-5)
        states = {name: outputs[f"next_{name}"] for name in states}


# The tokenizer.


@given(st.text(alphabet="ab\n é\U0001f600", max_size=20))
@settings(max_examples=50, deadline=None)
def test_characters_come_back(text):
    tokenizer = hub.VocabularyTokenizer.from_text("ab\n é\U0001f600")
    assert tokenizer.detokenize(tokenizer(text)) == text


@given(st.lists(st.sampled_from(["no", "it", "was", "n't", "<unk>", "\n"]), max_size=10))
@settings(max_examples=50, deadline=None)
def test_words_and_lines_come_back(words):
    tokenizer = hub.VocabularyTokenizer.from_text("no it was n't", split="word", end_token="<eos>")
    text = " ".join(words).replace(" \n ", "\n").replace("\n ", "\n").replace(" \n", "\n")
    assert tokenizer.detokenize(tokenizer(text)) == text


def test_a_vocabulary_of_words_has_no_more_tokens_than_the_text():
    tokenizer = hub.VocabularyTokenizer(["the", "<unk>", "N", "<eos>"], "word", end_token="<eos>", start_token="<eos>")
    assert tokenizer.vocabulary_size() == 4
    assert tokenizer("the N\nstocks fell\n").tolist() == [0, 2, 3, 1, 1, 3]
    assert (tokenizer.pad_token_id, tokenizer.start_token_id, tokenizer.end_token_id) == (1, 3, 3)
    counted = hub.VocabularyTokenizer.from_text(["a b b", "b c c"], "word", min_count=2, max_size=3)
    assert counted.get_vocabulary() == ["<unk>", "b", "c"]


@pytest.mark.parametrize("split", ["character", "word"])
def test_tf_data_tokenizes_alike(split):
    tf = pytest.importorskip("tensorflow")
    tokenizer = hub.VocabularyTokenizer.from_text("to be or not\nto é", split, end_token="<eos>")
    texts = ["to be\nor", "né to ", "not\xa0or"]
    dataset = tf.data.Dataset.from_tensor_slices(texts).map(tokenizer)
    found = [np.array(ids) for ids in dataset.as_numpy_iterator()]
    assert [ids.tolist() for ids in found] == tokenizer(texts)
    back = tf.data.Dataset.from_generator(lambda: found, output_signature=tf.TensorSpec([None], "int32"))
    texts = [text.decode() for text in back.map(tokenizer.detokenize).as_numpy_iterator()]
    assert texts == [tokenizer.detokenize(ids) for ids in found]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hub.VocabularyTokenizer(["a", "a"]), "`vocabulary` must be a list of distinct strings"),
        (lambda: hub.VocabularyTokenizer(["a"]), "must hold `unknown_token`"),
        (lambda: hub.VocabularyTokenizer(["a"], split="letter"), "`split` must be one of 'character', 'word'"),
        (lambda: hub.VocabularyTokenizer().vocabulary_size(), "has no vocabulary yet"),
        (lambda: hub.VocabularyTokenizer.from_text(""), "`text` must hold at least one token"),
        (lambda: hub.RecurrentBackbone(5, 8, []), "`cells` must be a list of recurrent cells"),
        (lambda: hub.RecurrentBackbone(5, 8, ["lstm"]), r"`cells\[0\]` must be a recurrent cell"),
        (lambda: hub.RecurrentBackbone(5, 8, [kar.LSTMCell(8)] * 2), "must not contain a cell twice"),
        (
            lambda: hub.RecurrentCausalLM(hub.RecurrentBackbone(5, 9, [kar.LSTMCell(8)])),
            "must have an `embedding_dim` of at most the output size of its last cell",
        ),
        (lambda: hub.RecurrentBackbone(5, 8, [kar.LSTMCell(8)], output_dropout=1.0), "`output_dropout` must be"),
        (
            lambda: hub.RecurrentCausalLM(hub.RecurrentBackbone(5, 8, [kar.LSTMCell(8)], bidirectional=True)),
            "must not be bidirectional",
        ),
        (lambda: make_lm(sampler="speculative"), "`sampler` must not be speculative"),
        (lambda: make_lm(sampler="topk"), "`sampler` must be a sampler, or one of 'greedy', 'top_k'.* sampler='topk'"),
        (lambda: make_lm(sampler=keras_hub.samplers.GreedySampler), "`sampler` must be a sampler, or one of"),
        (lambda: make_lm(sampler=keras_hub.samplers.BeamSampler(return_all_beams=True)), "one text for each prompt"),
        (
            lambda: make_lm().preprocessor.tokenizer({"token_ids": [1]}),
            "must be a string or a list of strings",
        ),
        (lambda: make_lm().generate(""), "must not hold an empty prompt"),
        (lambda: make_lm().generate([]), "at least one prompt"),
        (lambda: make_lm().generate("the cat", max_length=7), "`max_length` must be larger than the longest prompt"),
        (lambda: make_lm().generate([1, 2]), r"must be a string, .* list of lists.*\. Received: 1 in row 0"),
        (lambda: make_lm().generate(["the", [1, 2]]), r"must be a string, .*\. Received: 'the' in row 0"),
        (lambda: make_lm().generate([[99]]), "must hold token ids from 0 to"),
        (lambda: make_lm().generate("the", states=make_lm().read(["a", "t"])), "as many texts as there are prompts"),
        (lambda: make_lm(sampler="beam").stream("the"), "must choose one token after another"),
        (lambda: make_lm().fit_streams("the cat", 2, 8), r"at least batch_size \* \(steps \+ 1\) = 18 tokens"),
        (lambda: make_lm().fit_streams(np.ones((40, 2), "int32"), 2, 8), r"array of integers \(tokens,\)"),
        (lambda: make_lm().save_to_preset("x", card={"licence": "mit"}), "`card` must be a dict"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_characters_that_the_vocabulary_lacks_are_counted():
    with pytest.warns(UserWarning, match=r"lacks 2 of the 7 tokens of the prompts"):
        make_lm().generate(["t#e", "c@t "], max_length=6)


# Reading.


@pytest.mark.parametrize("name", CELLS)
@in_turns
def test_one_token_at_a_time_equals_one_pass(name, rng):
    cell = CELLS[name]()
    lm = make_lm([cell], tie_weights=False)
    ids = rng.integers(0, lm.backbone.vocabulary_size, size=(2, 5)).astype("int32")
    expected, cache, found = logits_of(lm, ids), lm.get_initial_cache(2), []
    for t in range(5):
        logits, _, cache = lm.call_with_cache(ops.convert_to_tensor(ids[:, t : t + 1]), cache)
        found.append(ops.convert_to_numpy(logits)[:, 0])
    np.testing.assert_allclose(np.stack(found, 1), expected, rtol=1e-5, atol=1e-5)


def test_packed_documents_are_read_as_apart(tmp_path):
    lm = make_lm(reset_token_id=1)
    backbone = lm.backbone
    ids = np.array([[3, 4, 1, 5, 6, 1, 2], [4, 2, 2, 5, 1, 3, 3]], "int32")
    logits = logits_of(lm, ids)
    np.testing.assert_allclose(logits[:1, 2:5], logits_of(lm, ids[:1, 2:5]), atol=1e-5)
    np.testing.assert_allclose(logits[1:, 4:], logits_of(lm, ids[1:, 4:]), atol=1e-5)
    assert not np.allclose(logits, logits_of(make_lm(), ids), atol=1e-3)
    states = backbone.get_initial_states(2)
    hidden, _ = backbone.read(ids, states)
    for t in range(ids.shape[1]):
        step, states = backbone.step(ids[:, t], states)
    np.testing.assert_allclose(*map(ops.convert_to_numpy, (step, hidden[:, -1])), atol=1e-5)
    streaming = ops.convert_to_numpy(lm.streaming_model(2)(ids))
    np.testing.assert_allclose(streaming, logits, atol=1e-5)
    lm.save_to_preset(tmp_path / "lm")
    np.testing.assert_allclose(logits_of(hub.RecurrentCausalLM.from_preset(tmp_path / "lm"), ids), logits, atol=1e-5)
    for bad in ({"reset_token_id": 99}, {"reset_token_id": 1, "bidirectional": True}):
        with pytest.raises(ValueError, match="`reset_token_id` must be None, or below vocabulary_size"):
            hub.RecurrentBackbone(9, 4, [kar.GRUCell(4)], **bad)


def test_a_larger_output_is_projected_to_the_embedding(rng):
    lm = make_projected_lm(logit_soft_cap=5.0)
    ids = rng.integers(0, lm.backbone.vocabulary_size, size=(2, 5)).astype("int32")
    hidden = ops.convert_to_numpy(lm.backbone({"token_ids": ids, "padding_mask": np.ones_like(ids)}))
    p, e, b = (ops.convert_to_numpy(w) for w in (lm.head.kernel, *lm.backbone.token_embedding.weights))
    assert (hidden.shape, p.shape, e.shape) == ((2, 5, 12), (12, 8), (lm.backbone.vocabulary_size, 8))
    expected = 5 * np.tanh((hidden @ p @ e.T + b) / 5)
    np.testing.assert_allclose(logits_of(lm, ids), expected, rtol=1e-5, atol=1e-5)
    # Before `make_lm` adds to them, its columns are orthonormal.
    start = hub.RecurrentCausalLM(hub.RecurrentBackbone(5, 8, [kar.LSTMCell(12)])).head.kernel
    np.testing.assert_allclose(ops.convert_to_numpy(ops.transpose(start) @ start), np.eye(8), atol=1e-5)


def test_a_projected_output_is_dropped_alike_in_all_steps():
    lm = make_projected_lm(output_dropout=0.5)
    ids = np.arange(12, dtype="int32").reshape(2, 6) % 5
    logits = lm({"token_ids": ids, "padding_mask": np.ones_like(ids)}, training=True)
    e, b = (ops.convert_to_numpy(w) for w in lm.backbone.token_embedding.weights)
    # There are more tokens than numbers in an embedding, so the logits tell what met it.
    met = (ops.convert_to_numpy(logits) - b) @ np.linalg.pinv(e.T)
    dropped = np.abs(met) < 1e-4
    assert 0 < dropped.mean() < 1
    assert (dropped == dropped[:, :1]).all()


def test_a_projected_output_writes_and_is_saved(tmp_path):
    lm = make_projected_lm(output_dropout=0.2)
    text = lm.generate("the cat")
    assert text == naive(lm, "the cat", 24)
    assert "".join(lm.stream("the cat")) == text[len("the cat") :]
    lm.fit_streams(TEXT, 2, 8, verbose=0)
    after = lm.generate(PROMPTS)
    assert after == [naive(lm, prompt, 24) for prompt in PROMPTS]
    lm.save_to_preset(tmp_path / "preset")
    lm.save(tmp_path / "model.keras")
    for loaded in (
        keras_hub.models.CausalLM.from_preset(str(tmp_path / "preset")),
        keras.models.load_model(tmp_path / "model.keras", compile=False),
    ):
        loaded.compile(sampler="greedy")
        assert loaded.generate(PROMPTS) == after
    half = hub.RecurrentCausalLM.from_preset(str(tmp_path / "preset"), dtype="mixed_bfloat16")
    assert half.head.compute_dtype == "bfloat16"
    half.compile(sampler="beam")
    assert [len(text) for text in half.generate(PROMPTS)] == [24] * 3


def test_padding_on_either_side_changes_nothing(rng):
    lm = make_lm(embedding_dropout=0.1, output_dropout=0.1)
    ids = rng.integers(0, 5, size=(1, 6)).astype("int32")
    alone = logits_of(lm, ids)
    for before, after in ((3, 0), (0, 3), (2, 1)):
        padded = np.pad(ids, [(0, 0), (before, after)], constant_values=4)
        mask = np.pad(np.ones_like(ids), [(0, 0), (before, after)])
        found = ops.convert_to_numpy(lm({"token_ids": padded, "padding_mask": mask}))
        np.testing.assert_allclose(found[:, before : before + 6], alone, rtol=1e-6, atol=1e-6)


def test_a_perplexity_counts_each_real_token_once():
    lm = make_lm()
    texts = ["the cat sat", "a dog", "mat"]
    x, y, weight = (jax_to_numpy(part) for part in lm.preprocessor(texts))
    log_p = np.log(keras.ops.convert_to_numpy(keras.ops.softmax(lm(x))))
    each = -np.take_along_axis(log_p, y[..., None], -1)[..., 0]
    expected = np.exp((each * weight).sum() / weight.sum())
    found = lm.evaluate(texts, batch_size=2, verbose=0, return_dict=True)
    assert found["perplexity"] == pytest.approx(expected, rel=1e-5)


def jax_to_numpy(part):
    return {k: np.array(v) for k, v in part.items()} if isinstance(part, dict) else np.array(part)


# KerasHub leaves the file of the vocabulary open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_subwords_of_kerashub_serve_as_well(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    proto = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT] * 5), model_writer=proto, vocab_size=40, model_type="BPE", minloglevel=2
    )
    tokenizer = keras_hub.tokenizers.SentencePieceTokenizer(proto=proto.getvalue())
    backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 16, [kar.LSTMCell(16)])
    lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=20))
    lm.compile(keras.optimizers.Adam(0.02), sampler="greedy")
    history = lm.fit_streams(TEXT, batch_size=2, steps=8, epochs=2, verbose=0).history["perplexity"]
    assert history[1] < 0.5 * history[0]
    text = lm.generate("the cat")
    assert text.startswith("the cat")
    assert "".join(lm.stream("the cat")) == text[len("the cat") :]
    lm.save_to_preset(tmp_path)
    loaded = keras_hub.models.CausalLM.from_preset(str(tmp_path))
    loaded.compile(sampler="greedy")
    assert loaded.generate("the cat") == text


# Writing.

PROMPTS = ["the cat sat on the mat", "the", "a dog"]


@pytest.mark.parametrize("sampler", ["greedy", "beam", "contrastive"])
def test_prompts_of_unequal_lengths_are_continued_as_alone(sampler):
    lm = make_lm(sampler=sampler, sequence_length=28)
    together = lm.generate(PROMPTS)
    assert together == [lm.generate(prompt) for prompt in PROMPTS]
    assert all(text.startswith(prompt) and len(text) == 28 for text, prompt in zip(together, PROMPTS, strict=True))
    if sampler == "greedy":
        assert together == [naive(lm, prompt, 28) for prompt in PROMPTS]


@pytest.mark.parametrize("sampler", ["top_k", "top_p", "random"])
def test_samplers_draw_by_their_seed(sampler):
    def drawn(seed):
        samplers = keras_hub.samplers
        make = {
            "top_k": samplers.TopKSampler,
            "top_p": partial(samplers.TopPSampler, 0.9),
            "random": samplers.RandomSampler,
        }
        lm.compile(sampler=make[sampler](seed=seed, temperature=3.0))
        return lm.generate(PROMPTS)

    lm = make_lm(sequence_length=40)
    first = drawn(1)
    assert first == drawn(1) != drawn(2)
    assert all(text.startswith(prompt) for text, prompt in zip(first, PROMPTS, strict=True))
    assert lm.generate(PROMPTS) != lm.generate(PROMPTS)


@pytest.mark.parametrize("sampler", SAMPLERS)
@in_turns
def test_half_precision_writes(sampler):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        lm = make_lm(sampler=sampler)
        assert lm.backbone.recurrent_layers[0].cell.compute_dtype == "bfloat16"
        assert [len(text) for text in lm.generate(PROMPTS)] == [24] * 3
        assert len(lm.generate("", max_length=5, states=lm.read("the cat"))) == 5
    finally:
        keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("cell", ["skip", "skim", "grid_lstm"])
@in_turns
def test_cells_that_decide_or_nest_write_what_they_read(cell):
    lm = make_lm([CELLS[cell]()], tie_weights=False)
    assert lm.generate("the cat") == naive(lm, "the cat", 24)


def test_new_weights_write_new_text():
    lm = make_lm()
    before = lm.generate("the cat")
    lm.set_weights([-weight for weight in lm.get_weights()])
    after = lm.generate("the cat")
    assert after == naive(lm, "the cat", 24) != before
    lm.fit_streams(TEXT, 2, 8, verbose=0)
    assert lm.generate("the cat") == naive(lm, "the cat", 24) != after


def test_reading_on_equals_reading_at_once():
    lm = make_lm(sequence_length=60)
    whole = lm.generate("the cat sat on the mat, and")
    states = lm.read(" sat on the mat, and", states=lm.read("the cat"))
    text, states = lm.generate("", max_length=20, states=states, return_states=True)
    text += lm.generate("", max_length=13, states=states)
    assert "the cat sat on the mat, and" + text == whole
    assert "".join(lm.stream("the cat sat on the mat, and")) == text
    # Longer than a piece: read in several.
    long = TEXT[:700]
    assert lm.generate("the", max_length=9, states=lm.read(long)) == lm.generate(long + "the", max_length=709)[700:]


def test_a_row_ends_with_a_stop_token():
    lm = make_lm()
    tokenizer = lm.preprocessor.tokenizer
    text = lm.generate("the cat")
    stop = tokenizer.token_to_id(text[10])
    end = text.index(text[10], 7)
    assert lm.generate("the cat", stop_token_ids=[stop]) == text[:end]
    assert lm.generate("the cat", stop_token_ids=[stop], strip_prompt=True) == text[7:end]
    assert "".join(lm.stream("the cat", stop_token_ids=[stop])) == text[7:end]


def test_token_ids_come_and_go():
    lm = make_lm(sequence_length=20)
    tokenizer = lm.preprocessor.tokenizer
    texts = lm.generate(PROMPTS[1:])
    found = lm.generate(tokenizer(PROMPTS[1:]))
    assert [tokenizer.detokenize(ids) for ids in found["token_ids"]] == texts
    lm.preprocessor = None
    ids, mask = np.zeros((2, 20), "int32"), np.zeros((2, 20), "int32")
    for k, row in enumerate(tokenizer(PROMPTS[1:])):
        ids[k, : len(row)], mask[k, : len(row)] = row, 1
    np.testing.assert_array_equal(
        lm.generate({"token_ids": ids, "padding_mask": mask}, stop_token_ids=None)["token_ids"], found["token_ids"]
    )
    with pytest.raises(ValueError, match="padded on the right"):
        lm.generate({"token_ids": ids, "padding_mask": mask[:, ::-1]})
    with pytest.raises(ValueError, match="no preprocessor"):
        lm.generate("the")


def test_one_compilation_serves_a_bucket():
    lm = make_lm(sequence_length=48)
    traced, step = [], lm.generate_step
    object.__setattr__(lm, "generate_step", lambda *args, **kwargs: traced.append(1) or step(*args, **kwargs))
    texts = [lm.generate(TEXT[:n]) for n in (20, 21, 30, 33)]
    assert len(traced) == (4 if keras.backend.backend() == "torch" else 1)
    assert len(set(texts)) == 4
    lm.generate(TEXT[:34])
    assert len(traced) == (5 if keras.backend.backend() == "torch" else 2)


def test_threads_write_at_once():
    lm = make_lm(sequence_length=32)
    expected = {prompt: lm.generate(prompt) for prompt in PROMPTS}
    found = []
    threads = [threading.Thread(target=lambda p=p: found.append((p, lm.generate(p)))) for p in PROMPTS * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 9
    assert all(text == expected[prompt] for prompt, text in found)


def test_no_thread_finds_half_a_function(monkeypatch):
    lm = make_lm()
    expected, whole = lm.generate(PROMPTS[0]), hub.generation.by_bucket
    lm.compile(sampler="greedy")
    entered, ended, texts = threading.Event(), threading.Event(), {}

    def slow(*args):
        entered.set()
        ended.wait(0.5)
        return whole(*args)

    def second():
        entered.wait()
        texts[1] = lm.generate(PROMPTS[0])
        ended.set()

    monkeypatch.setattr(hub.generation, "by_bucket", slow)
    thread = threading.Thread(target=second)
    thread.start()
    texts[0] = lm.generate(PROMPTS[0])
    thread.join()
    assert texts == {0: expected, 1: expected}


def test_a_function_whose_making_is_interrupted_is_made_again(monkeypatch):
    lm = make_lm()
    expected, whole = lm.generate(PROMPTS[0]), hub.generation.by_bucket
    lm.compile(sampler="greedy")
    interrupts = iter([KeyboardInterrupt()])

    def interrupted(*args):
        for interrupt in interrupts:
            raise interrupt
        return whole(*args)

    monkeypatch.setattr(hub.generation, "by_bucket", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lm.generate(PROMPTS[0])
    assert lm.generate(PROMPTS[0]) == expected


def test_the_step_of_keras_hub_reads_the_whole_prompt():
    """`generate_step` alone, as KerasHub's own `generate` calls it."""
    lm = make_lm()
    batch = hub.generation.padded(lm.preprocessor.tokenizer(PROMPTS[:2]), 24)
    inputs = {name: ops.convert_to_tensor(array) for name, array in batch.items()}
    found = ops.convert_to_numpy(lm.generate_step(inputs)["token_ids"])
    assert lm.preprocessor.tokenizer.detokenize(found) == lm.generate(PROMPTS[:2])


# Learning.


def test_streams_carry_states_and_train_the_same_weights():
    lm = make_lm([kar.LSTMCell(8), keras.layers.GRUCell(8)])
    ids = lm.preprocessor.tokenizer(TEXT[:33])
    lm.compile(keras.optimizers.SGD(0.0))
    model = lm.streaming_model(1)
    assert [id(v) for v in model.trainable_variables] == [id(v) for v in lm.trainable_variables]
    x, y = hub.streams(ids, 1, 8)
    model.compile(keras.optimizers.SGD(0.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=1, shuffle=False, verbose=0)
    states = lm.backbone.read(ids[None, :-1], lm.get_initial_cache(1))[1]
    carried = [v.value for layer in model.layers for v in layer.variables if v.name.startswith("state_")]
    for state, other in zip(carried, keras.tree.flatten(states), strict=True):
        np.testing.assert_allclose(*map(ops.convert_to_numpy, (state, other)), rtol=1e-5, atol=1e-6)
    log_p = np.log(ops.convert_to_numpy(ops.softmax(logits_of(lm, ids[:-1]))))[0]
    perplexity = np.exp(-log_p[np.arange(32), ids[1:]].mean())
    run = lm.fit_streams(TEXT[:33], 1, 8, validation=TEXT[:33], verbose=0)
    assert run.history["perplexity"][0] == pytest.approx(perplexity, rel=1e-4)
    assert run.history["val_perplexity"][0] == pytest.approx(perplexity, rel=1e-4)
    assert run.history["bits_per_character"][0] == pytest.approx(math.log2(perplexity), rel=1e-4)


def test_frozen_layers_stay_frozen_in_streams():
    lm = make_lm()
    lm.backbone.token_embedding.trainable = lm.backbone.recurrent_layers[0].trainable = False
    before = [ops.convert_to_numpy(v) for v in lm.variables]
    lm.fit_streams(TEXT[:100], 2, 8, verbose=0)
    assert not lm.backbone.token_embedding.trainable
    trained = {id(v) for v in lm.backbone.recurrent_layers[1].trainable_variables}
    assert trained == {id(v) for v in lm.trainable_variables}
    for variable, old in zip(lm.variables, before, strict=True):
        if "seed" not in variable.path:
            changed = bool(np.any(ops.convert_to_numpy(variable) != old))
            assert changed == (id(variable) in trained), variable.path


@in_turns
def test_both_ways_of_training_learn(tmp_path):
    lm = make_lm([kar.MogrifierCell(16, rank=4)], tie_weights=False, logit_soft_cap=10.0, embedding_dropout=0.05)
    lm.compile(keras.optimizers.Adam(0.02), sampler="greedy")
    path = tmp_path / "text"
    path.write_text(TEXT)
    ids = hub.write_tokens(path, lm.preprocessor.tokenizer, tmp_path / "ids.npy", verbose=False)
    assert isinstance(ids, np.memmap)
    assert ids.dtype == np.uint8
    assert np.shares_memory(kar.datasets.TokenStream(ids, 4).rows, ids)
    streamed = lm.fit_streams(ids, 4, 16, epochs=4, verbose=0).history["perplexity"]
    assert streamed[-1] < 0.6 * streamed[0]
    padded = lm.fit([TEXT[k : k + 20] for k in range(0, 200, 10)], batch_size=4, epochs=3, verbose=0)
    assert padded.history["perplexity"][-1] < 1.1 * streamed[-1]
    assert lm.optimizer.iterations > 60


def test_a_classifier_learns_with_every_pooling(tmp_path):
    texts, labels = ["good so good", "so bad", "bad", "good"] * 8, [1, 0, 0, 1] * 8
    tokenizer = hub.VocabularyTokenizer.from_text(texts, split="word")
    for pooling, bidirectional in (("mean", False), ("last", True), ("attention", False)):
        cell = kar.SkipCell(kar.GRUCell(8), cost_weight=1e-4) if pooling == "mean" else kar.LSTMCell(8)
        backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 8, [cell], bidirectional=bidirectional)
        preprocessor = hub.RecurrentTextClassifierPreprocessor(tokenizer, sequence_length=6)
        classifier = hub.RecurrentTextClassifier(backbone, 2, preprocessor, pooling)
        classifier.compile(keras.optimizers.Adam(0.05))
        classifier.fit(texts, labels, epochs=6, verbose=0)
        found = classifier.predict(["good good", "so so bad"], verbose=0)
        assert found.argmax(-1).tolist() == [1, 0], pooling
        # Another length of padding.
        longer = hub.RecurrentTextClassifierPreprocessor(tokenizer, sequence_length=9)(["good good", "so so bad"])
        np.testing.assert_allclose(ops.convert_to_numpy(classifier(longer)), found, atol=1e-5)
    classifier.save_to_preset(tmp_path / "classifier")
    loaded = keras_hub.models.TextClassifier.from_preset(str(tmp_path / "classifier"))
    np.testing.assert_allclose(loaded.predict(["good good", "so so bad"], verbose=0), found, rtol=1e-5, atol=1e-6)


class StopAfter(keras.callbacks.Callback):
    """Stops, by an exception or as a callback does, after a number of steps."""

    def __init__(self, steps, error=None):
        super().__init__()
        self.left, self.error = steps, error

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if self.left == 0 and self.error is not None:
            raise self.error
        self.model.stop_training = self.left == 0


def test_rounds_that_are_interrupted_end_with_the_same_weights(tmp_path):
    def train(*callbacks):
        keras.utils.set_random_seed(1)
        lm = make_lm([kar.LSTMCell(8, dropout=0.2)])
        lm.compile(keras.optimizers.Adam(0.01))
        fit_rounds(lm, lm.preprocessor.tokenizer(TEXT), 4, 16, 5, None, list(callbacks))
        return lm.get_weights()

    def backup():
        return keras.callbacks.BackupAndRestore(tmp_path / "backup", double_checkpoint=True, delete_checkpoint=False)

    # 16 segments make an epoch, and 5 a round.
    whole = train(StopAfter(40))
    with pytest.raises(KeyboardInterrupt):
        train(backup(), StopAfter(23, KeyboardInterrupt()))
    resumed = train(backup(), StopAfter(20))
    for a, b in zip(whole, resumed, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


# The command line.


@in_turns
def test_a_text_becomes_a_model_that_writes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("book.txt").write_text(TEXT)
    small = ["--units", "8", "--batch", "2", "--steps", "8", "--round", "4", "--validation", "0.2"]
    main(["train", "book.txt", "--preset", "lm", "--minutes", "0.005", *small])
    shown = capsys.readouterr().out
    assert "bits per character" in shown
    assert "hub write lm" in shown
    assert sorted(path.name for path in pathlib.Path("lm").iterdir() if path.suffix != ".json") == [
        "README.md", "assets", "curves.png", "log.csv", "model.weights.h5",
    ]  # fmt: skip
    assert not pathlib.Path("lm.training").exists()
    main(["write", "lm", "--prompt", "the cat", "--length", "20", "--seed", "1"])
    text = capsys.readouterr().out
    main(["write", "lm", "--prompt", "the cat", "--length", "20", "--seed", "1"])
    assert capsys.readouterr().out == text
    assert text.startswith("the cat")
    assert len(text) == 28
    main(["tokens", "book.txt", "book.npy", "--min-count", "1"])
    assert "1,040 tokens, 16 different ones" in capsys.readouterr().out
    main(["score", "lm", "book.txt"])
    assert "1,039" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train missing.txt --preset lm", "cannot read missing.txt: No such file"),
        ("train empty.txt --preset lm", "empty.txt is empty"),
        ("train binary.txt --preset lm", "binary.txt is not a text"),
        ("train latin.txt --preset lm", "latin.txt is not UTF-8: invalid continuation byte at byte 3, in line 1"),
        ("train late.txt --preset lm", "late.txt is not UTF-8: unexpected end of data at byte 2600003, in line 200001"),
        ("tokens zeros.txt zeros.npy", "not a text in UTF-8: it has a byte of zero in line 200001, byte 2600001"),
        ("train short.txt --preset lm --seed -1", None),
        ("train short.txt --preset lm --minutes inf", None),
        ("train short.txt --preset lm", "short.txt is too short: its training part has 11 tokens"),
        ("train short.txt --preset lm --cell moggy", "--cell must be one of"),
        ("train short.txt --preset lm --set rank", "--set needs NAME=VALUE"),
        ("train short.txt --preset lm --set ranks=3", "no argument `ranks` (did you mean `rank`?)"),
        ("train short.txt --preset .", ". exists already"),
        ("train short.txt --preset begun", "begun.training holds an unfinished training with --units 7"),
        ("write nowhere", "nowhere is not the folder of a preset"),
        ("write begun", "its training is not finished"),
    ],
)
@in_turns
def test_commands_say_what_is_wrong(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long = b"line of text\n" * 200_000
    contents = {"empty": b"", "binary": b"\0\1", "latin": b"caf\xe9 " * 99, "short": b"the cat sat"}
    for name, content in {**contents, "late": long + b"caf\xe9", "zeros": long + b"a\0"}.items():
        pathlib.Path(f"{name}.txt").write_bytes(content)
    pathlib.Path("begun.training").mkdir()
    begin(pathlib.Path("begun.training"), parse(["train", "short.txt", "--preset", "begun", "--units", "7"]))
    with pytest.raises(SystemExit) as error:
        main(arguments.split())
    if message is None:
        # Of argparse.
        assert error.value.code == 2
    else:
        assert message in str(error.value)
    assert not pathlib.Path("zeros.npy").exists()


# Files.


@pytest.mark.parametrize("make", [partial(make_lm, tie_weights=False), make_projected_lm], ids=["untied", "projected"])
def test_a_quantized_preset_writes_the_same_text(make, tmp_path):
    lm = make()
    with pytest.warns(UserWarning, match="does not have a `quantize` method"):
        lm.quantize("int8")
    lm.compile(sampler="greedy")
    text = lm.generate("the cat")
    lm.save_to_preset(tmp_path)
    loaded = hub.RecurrentCausalLM.from_preset(str(tmp_path))
    loaded.compile(sampler="greedy")
    assert loaded.generate("the cat") == text
    assert loaded.backbone.recurrent_layers[1].cell.kernel_map.kernel.dtype == "int8"
    assert loaded.head.quantization_mode == "int8"


def test_no_adapters_are_better_than_none_in_silence():
    with pytest.raises(NotImplementedError, match="Recurrent cells have no LoRA"):
        make_lm().backbone.enable_lora(4)


def test_a_preset_writes_the_same_text(tmp_path):
    lm = make_lm(tie_weights=False, output_dropout=0.1)
    text = lm.generate("the cat")
    card = {"data": "nursery rhymes", "license": "cc0-1.0", "perplexity": 12.5, "training": "not at all"}
    lm.save_to_preset(tmp_path / "lm", card=card)
    loaded = keras_hub.models.CausalLM.from_preset(str(tmp_path / "lm"))
    assert isinstance(loaded, hub.RecurrentCausalLM)
    loaded.compile(sampler="greedy")
    assert loaded.generate("the cat") == text
    page = (tmp_path / "lm" / "README.md").read_text()
    assert all(f"| {name} | {value} |" in page for name, value in card.items())
    half = hub.RecurrentCausalLM.from_preset(str(tmp_path / "lm"), dtype="mixed_bfloat16")
    cells = [layer.cell for layer in half.backbone.recurrent_layers]
    assert {part.compute_dtype for cell in cells for part in [cell, *cell._flatten_layers()]} == {"bfloat16"}
    classifier = keras_hub.models.TextClassifier.from_preset(str(tmp_path / "lm"), num_classes=2)
    np.testing.assert_array_equal(*(m.backbone.get_weights()[1] for m in (classifier, lm)))


def test_a_frozen_preset_writes_what_it_wrote():
    lm = keras_hub.models.CausalLM.from_preset(str(PRESET))
    lm.compile(sampler="greedy")
    assert lm.generate(["hello", "to"]) == json.loads((PRESET / "text.json").read_text())


@in_turns
@pytest.mark.parametrize("name", sorted(path.name for path in TRAINED.iterdir() if path.is_dir()))
def test_a_trained_model_knows_its_text(name):
    from pydoc_data.topics import topics

    lm = hub.RecurrentCausalLM.from_preset(name)
    text = topics["import"][:3000]
    found = lm.evaluate_streams(text, batch_size=2, steps=100, verbose=False)
    assert found.tokens == 2998
    assert found.perplexity < 3.5
    assert sum(path.stat().st_size for path in (TRAINED / name).rglob("*")) < 2e6


@in_turns
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_of_half_precision_are_drawn(dtype):
    lm = hub.RecurrentCausalLM(hub.RecurrentBackbone(9, 4, [kar.MogrifierCell(4)], dtype=dtype))
    assert {keras.backend.standardize_dtype(weight.dtype) for weight in lm.trainable_weights} == {dtype}


def test_a_keras_file_and_a_clone_write_the_same_text(tmp_path):
    lm = make_lm()
    lm.save(tmp_path / "lm.keras")
    with pytest.warns(UserWarning, match="compile"):
        loaded = keras.models.load_model(tmp_path / "lm.keras")
    loaded.compile(sampler="greedy")
    assert loaded.generate("the cat") == lm.generate("the cat")


def test_the_model_card_goes_to_a_new_remote_first(tmp_path, monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    done = []
    create = lambda repo_id, **_: done.append(repo_id) or SimpleNamespace(repo_id=repo_id)  # noqa: E731
    monkeypatch.setattr(huggingface_hub, "create_repo", create)
    monkeypatch.setattr(huggingface_hub, "upload_file", lambda path_or_fileobj, **_: done.append(path_or_fileobj.name))
    monkeypatch.setattr(keras_hub, "upload_preset", lambda uri, preset: done.append(uri))
    make_lm().save_to_preset(tmp_path)
    hub.upload_preset("hf://user/lm", tmp_path)
    assert done == ["user/lm", "README.md", "hf://user/lm"]


@nightly
def test_a_preset_of_an_unknown_class_says_so(tmp_path):
    make_lm().save_to_preset(tmp_path)
    code = f"import keras_hub; keras_hub.models.CausalLM.from_preset({str(tmp_path)!r})"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "keras_adaptive_rnn>RecurrentBackbone" in process.stderr
    (tmp_path / "config.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match=r"config\.json"):
        hub.RecurrentCausalLM.from_preset(str(tmp_path))
