"""Presets come from anyone: they are read whole, from their own folder, or refused with a message."""

import json
import os
import pathlib
import re
import shutil
from types import SimpleNamespace

import keras
import pytest

import keras_adaptive_rnn as kar
from tests.backends import in_turns

keras_hub = pytest.importorskip("keras_hub", minversion="0.32")
from keras_adaptive_rnn import hub  # noqa: E402
from keras_adaptive_rnn.hub import presets  # noqa: E402

pytestmark = in_turns

ASSET = "assets/tokenizer/vocabulary.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets") / "whole"
    make_lm().save_to_preset(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def make_lm():
    tokenizer = hub.VocabularyTokenizer.from_text("abracadabra")
    backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 3, [kar.LSTMCell(3)])
    return hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=8))


def edit(path, class_name, change):
    """Changes the config of a class in a JSON file, however deep it is."""

    def find(value):
        if isinstance(value, dict) and value.get("class_name") == class_name:
            return value
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return next(filter(None, map(find, parts)), None)

    config = json.loads(path.read_text())
    change(find(config))
    path.write_text(json.dumps(config))


def named(argument, value, **others):
    return lambda config: config.update(others, config={**config["config"], argument: value})


SENTENCE_PIECE = {
    "module": "keras_hub.tokenizers",
    "class_name": "SentencePieceTokenizer",
    "registered_name": "keras_hub>SentencePieceTokenizer",
}
HOSTILE = {
    "vocabulary": named("vocabulary", "/dev/zero"),
    "proto": named("proto", "secret.spm", **SENTENCE_PIECE),
    "merges": named("merges", "/etc/passwd", class_name="BytePairTokenizer"),
    "config_file": named("config_file", "../written.json"),
}
LOADERS = {
    "ours": lambda folder: hub.RecurrentCausalLM.from_preset(folder),
    "keras_hub": lambda folder: keras_hub.models.CausalLM.from_preset(str(folder)),
    "classifier": lambda folder: hub.RecurrentTextClassifier.from_preset(folder, num_classes=2),
}


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
@pytest.mark.parametrize("argument", HOSTILE)
@pytest.mark.parametrize("file", ["task.json", "tokenizer.json"])
def test_a_config_names_no_file(file, argument, load, folder):
    edit(folder / file, "VocabularyTokenizer", HOSTILE[argument])
    if file == "tokenizer.json":
        (folder / "task.json").unlink()
        (folder / "preprocessor.json").unlink()
    with pytest.raises(ValueError, match=f"`{argument}` in the config of .* must"):
        load(folder)


@pytest.mark.parametrize("argument", ["vocabulary", "config_file"])
def test_the_config_of_a_keras_file_names_no_file(argument, folder):
    config = make_lm().get_config()
    tokenizer = config["preprocessor"]["config"]["tokenizer"]
    HOSTILE[argument](tokenizer)
    for load in (
        lambda: hub.VocabularyTokenizer.from_config(tokenizer["config"]),
        lambda: keras.saving.deserialize_keras_object(config["preprocessor"]),
        lambda: hub.RecurrentCausalLM.from_config(config),
    ):
        with pytest.raises(ValueError, match=f"`{argument}` in the config of .* must"):
            load()


def test_a_program_may_name_a_file(tmp_path):
    (tmp_path / "tokens.json").write_text(json.dumps(["\ufffd", "a"]))
    tokenizer = hub.VocabularyTokenizer(str(tmp_path / "tokens.json"))
    assert tokenizer.get_vocabulary() == ["\ufffd", "a"]
    again = hub.VocabularyTokenizer.from_config(tokenizer.get_config())
    with pytest.raises(ValueError, match="has no vocabulary yet"):
        again.special_token_ids, again.unknown_token_id  # noqa: B018


@pytest.mark.parametrize("load", [LOADERS["ours"], LOADERS["keras_hub"]], ids=["ours", "keras_hub"])
@pytest.mark.parametrize("file", [ASSET, "preprocessor.json", "assets"])
def test_links_that_leave_the_folder_are_not_followed(file, load, folder, tmp_path):
    (folder / file).rename(tmp_path / "outside")
    (folder / file).symlink_to(tmp_path / "outside")
    with pytest.raises(ValueError, match=r"a link to .*outside"):
        load(folder)


def test_links_within_the_folder_and_in_the_cache_of_hugging_face_are(folder, tmp_path):
    (folder / ASSET).rename(folder / "tokens")
    (folder / ASSET).symlink_to(folder / "tokens")
    assert hub.RecurrentCausalLM.from_preset(folder).generate("a", max_length=4)
    cached, blobs = tmp_path / "models--user--lm" / "snapshots" / "0f", tmp_path / "models--user--lm" / "blobs"
    blobs.mkdir(parents=True)
    for k, path in enumerate(path for path in folder.rglob("*") if path.is_file()):
        target = cached / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, blobs / str(k))
        target.symlink_to(os.path.relpath(blobs / str(k), target.parent))
    assert hub.RecurrentCausalLM.from_preset(cached).generate("a", max_length=4)


def test_what_is_no_file_is_not_opened(folder):
    (folder / ASSET).unlink()
    os.mkfifo(folder / ASSET)
    for load in LOADERS.values():
        with pytest.raises(ValueError, match="which is none"):
            load(folder)


def test_files_are_read_up_to_a_size(folder, monkeypatch):
    monkeypatch.setattr(presets, "LARGEST", 10)
    with pytest.raises(ValueError, match=r"config\.json must have at most 10 bytes"):
        hub.RecurrentCausalLM.from_preset(folder)
    with pytest.raises(ValueError, match=r"vocabulary\.json must have at most 10 bytes"):
        hub.VocabularyTokenizer().load_assets(folder / "assets" / "tokenizer")


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "\x00", "[" + "9" * 5000 + "]"])
@pytest.mark.parametrize("file", ["task.json", ASSET])
def test_damaged_files_are_named(file, content, folder):
    (folder / file).write_text(content)
    with pytest.raises(ValueError, match=rf"{file} must hold JSON, and is damaged"):
        hub.RecurrentCausalLM.from_preset(folder)


@pytest.mark.parametrize("content", ["[1, 2]", "{}"])
@pytest.mark.parametrize("file", ["task.json", "preprocessor.json", ASSET])
def test_files_of_another_form_are_named(file, content, folder):
    (folder / file).write_text(content)
    with pytest.raises(ValueError, match=rf"{file}(:.*| must hold .*, and is damaged)"):
        hub.RecurrentCausalLM.from_preset(folder)


@pytest.mark.parametrize("end", [0, -7])
def test_damaged_weights_are_named(end, folder):
    path = folder / "model.weights.h5"
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ValueError, match=r"model\.weights\.h5 must hold weights, and is damaged"):
        hub.RecurrentCausalLM.from_preset(folder)


def test_shards_are_beside_their_list(folder):
    (folder / "model.weights.json").write_text(json.dumps({"weight_map": {"/a": ["../other.weights.h5"]}}))
    with pytest.raises(ValueError, match="`weight_map` in the config of"):
        hub.RecurrentCausalLM.from_preset(folder)


def test_a_vocabulary_must_fit_the_model(folder):
    tokens = json.loads((folder / ASSET).read_text())
    (folder / ASSET).write_text(json.dumps([*tokens, "x"]))
    with pytest.raises(ValueError, match="at least as many tokens as the tokenizer, 7"):
        hub.RecurrentCausalLM.from_preset(folder)
    # A model may have more tokens than its tokenizer, which writes the others as unknown.
    (folder / ASSET).write_text(json.dumps(tokens[:3]))
    lm = hub.RecurrentCausalLM.from_preset(folder)
    assert set(lm.generate("a", max_length=6)) <= {"a", "b", "\ufffd"}
    tokenizer = lm.preprocessor.tokenizer
    assert tokenizer.detokenize([1, 5]) == "a\ufffd"
    with pytest.raises(ValueError, match=r"`id` must be in \[0, 2\]"):
        tokenizer.id_to_token(5)


class HuggingFace:
    """The functions of `huggingface_hub` that KerasHub and this package call, on a folder with the layout of its cache.

    As there, a file is a link to a blob, and the snapshot of a commit has all files of the repository.
    """

    def __init__(self, folder):
        self.folder = folder

    def snapshot(self, repo_id):
        return self.folder / f"models--{repo_id.replace('/', '--')}" / "snapshots" / "0f3c"

    def create_repo(self, repo_id, exist_ok=False):
        self.snapshot(repo_id).mkdir(parents=True, exist_ok=exist_ok)
        return SimpleNamespace(repo_id=repo_id)

    def file_exists(self, repo_id, filename):
        return (self.snapshot(repo_id) / filename).exists()

    def upload_file(self, path_or_fileobj, path_in_repo, repo_id):
        target = self.snapshot(repo_id) / path_in_repo
        blobs = target.parents[len(pathlib.Path(path_in_repo).parts) + 1] / "blobs"
        blobs.mkdir(exist_ok=True)
        blob = blobs / path_in_repo.replace("/", "_")
        shutil.copy(path_or_fileobj, blob)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.symlink_to(os.path.relpath(blob, target.parent))

    def upload_folder(self, repo_id, folder_path):
        for path in pathlib.Path(folder_path).rglob("*"):
            if path.is_file():
                self.upload_file(path, path.relative_to(folder_path).as_posix(), repo_id)

    def hf_hub_download(self, repo_id, filename):
        from huggingface_hub.utils import EntryNotFoundError

        if not self.file_exists(repo_id, filename):
            raise EntryNotFoundError(filename)
        return str(self.snapshot(repo_id) / filename)


@pytest.fixture
def hugging_face(tmp_path, monkeypatch):
    module, stand_in = pytest.importorskip("huggingface_hub"), HuggingFace(tmp_path / "hub")
    for name in ("create_repo", "file_exists", "upload_file", "upload_folder", "hf_hub_download"):
        monkeypatch.setattr(module, name, getattr(stand_in, name))
    return stand_in


def test_what_is_uploaded_loads_and_writes_the_same(whole, hugging_face):
    card = (whole / "README.md").read_text()
    hub.upload_preset("hf://user/lm", whole)
    assert (hugging_face.snapshot("user/lm") / "README.md").read_text() == card
    texts = []
    for lm in (
        hub.RecurrentCausalLM.from_preset(whole),
        hub.RecurrentCausalLM.from_preset("hf://user/lm"),
        keras_hub.models.CausalLM.from_preset("hf://user/lm"),
    ):
        lm.compile(sampler="greedy")
        texts.append(lm.generate("ab", max_length=8))
    assert texts[0] == texts[1] == texts[2]


def test_a_misspelt_preset_of_the_package_is_told_the_nearest():
    with pytest.raises(ValueError, match="no preset 'lstm_python_referense': did you mean 'lstm_python_reference'"):
        hub.RecurrentCausalLM.from_preset("lstm_python_referense")


def test_the_presets_of_the_package_are_uploaded(hugging_face, capsys):
    tool = pytest.importorskip("tools.presets")
    tool.main(["upload", "hf://user"])
    addresses = capsys.readouterr().out.split()
    names = sorted(path.name for path in presets.TRAINED.iterdir() if path.is_dir())
    assert addresses == [f"hf://user/{name}" for name in names]
    assert set(names) <= set(tool.NAMES)
    listed = (presets.TRAINED / "README.md").read_text(encoding="utf-8")
    for name in names:
        card = (hugging_face.snapshot(f"user/{name}") / "README.md").read_text(encoding="utf-8")
        figures = dict(re.findall(r"^\| (weights|perplexity) \| ([\d.,]+)", card, re.MULTILINE))
        assert re.search(rf"^\| `{name}` \| .* \| {figures['weights']} \| {figures['perplexity']} \|$", listed, re.M)
    assert listed.count("_python_reference`") == len(names)
