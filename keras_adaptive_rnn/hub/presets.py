"""Presets: checks of their files, model cards and uploads."""

import difflib
import functools
import json
import os
import pathlib
import re
import stat
from typing import Any

import h5py
import keras
import keras_hub

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._freezing import trainable_parts
from keras_adaptive_rnn._hub_options import TRAINED
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn._private import optional
from keras_adaptive_rnn._saving import restored
from keras_adaptive_rnn.files import save_whole

# Lines of a model card that the model itself does not know.
FIELDS = ("data", "license", "perplexity", "training")
# The configs of a preset, and how many bytes each of them, and each file of a tokenizer, may have.
CONFIGS = ("config.json", "task.json", "preprocessor.json", "tokenizer.json")
LARGEST = 64 << 20
# Arguments of tokenizers that may be a path in a program. In a config, their values are files of the preset.
PATHS = ("vocabulary", "merges", "proto")
FILE_NAME = re.compile(r"\w[\w.-]*")

get_file = optional("keras_hub.src.utils.preset_utils.get_file", "the tokenizers of remote presets are not checked")


class ReadsItsOwnFiles:
    """Mixin of a class in presets, which may come from anyone: what they make it read is in their folder.

    KerasHub's classes reach it in one of these methods, whichever of them a program begins with.
    """

    @classmethod
    def from_config(cls, config, *args, **kwargs):
        check_config(config, cls.__name__)
        return super().from_config(config, *args, **kwargs)

    @classmethod
    def from_preset(cls, preset, *args, **kwargs):
        return super().from_preset(checked(preset), *args, **kwargs)

    @classmethod
    def _add_missing_kwargs(cls, loader, kwargs):
        checked(loader.preset)
        return super()._add_missing_kwargs(loader, kwargs)

    def load_preset_assets(self, preset):
        checked(preset)
        super().load_preset_assets(preset)


def checked(preset):
    """Returns a preset for KerasHub, or raises `ValueError` if loading it would read files outside of its folder."""
    preset = resolve_preset(preset)
    folder = pathlib.Path(preset)
    if "://" in preset:
        _check_remote(preset)
    elif folder.is_dir():
        _check_folder(folder)
    return preset


def _check_folder(folder):
    names = [*CONFIGS, "metadata.json", "model.weights.json", "assets"]
    paths = [folder / name for name in names if os.path.lexists(folder / name)]
    weights = sorted(folder.glob("*.weights.h5"))
    for path in paths + weights:
        _check_inside(path, folder)
    for path in sorted((folder / "assets").rglob("*")):
        _check_inside(path, folder)
    for path in paths:
        if path.suffix == ".json":
            config = read_json(path)
            # A `config.json` may be of another library, which KerasHub converts.
            if path.name in CONFIGS[1:] and "registered_name" not in config:
                raise ValueError(f"{path} must hold an object of Keras, and is damaged: it names no class")
            check_config(config, path)
    for path in weights:
        check_weights(path)


def _check_inside(path, folder):
    """Raises if a path leads out of its folder, or to neither a file nor a folder."""
    places = [folder.resolve()]
    if folder.parent.name == "snapshots":
        # In the cache of Hugging Face, the files are links to these.
        places.append(folder.parent.parent.resolve() / "blobs")
    real = path.resolve()
    if not any(real.is_relative_to(place) for place in places):
        raise ValueError(f"A preset must consist of the files in its folder. Received: {path}, a link to {real}")
    if not (real.is_file() or real.is_dir()):
        raise ValueError(f"A preset must consist of files. Received: {path}, which is none")


def _check_remote(preset):
    for name in CONFIGS if get_file else ():
        try:
            path = get_file(preset, name)
        except FileNotFoundError:
            continue
        check_config(read_json(path), f"{preset}, {name}")


def check_config(config, where):
    """Raises `ValueError` if a config names a file: a preset may only read the files beside it."""
    rest = [config]
    while rest:
        value = rest.pop()
        if isinstance(value, (list, tuple)):
            rest.extend(value)
        if not isinstance(value, dict):
            continue
        for name, each in value.items():
            if name in PATHS and isinstance(each, (str, bytes, os.PathLike)):
                raise ValueError(
                    f"Argument `{name}` in the config of {where} must not name a file: the only files of a preset are "
                    f"those in its folder. Received: {name}={each!r}"
                )
            names = each.values() if name == "weight_map" and isinstance(each, dict) else [each]
            names = [file for part in names for file in (part if isinstance(part, list) else [part])]
            if name in ("config_file", "weight_map") and not all(map(_is_file_name, names)):
                raise ValueError(
                    f"Argument `{name}` in the config of {where} must name a file of the folder that the config is in. "
                    f"Received: {name}={each!r}"
                )
            rest.append(each)


def _is_file_name(value):
    return isinstance(value, str) and FILE_NAME.fullmatch(value) is not None


def check_weights(path):
    """Raises `ValueError` with the name of a damaged file of weights, which Keras's error lacks."""
    try:
        h5py.File(path).close()
    except OSError as error:
        raise ValueError(f"{path} must hold weights, and is damaged: {error}") from error


def read_json(path, kind=dict):
    """Returns the dict, or the list, in a JSON file, or raises `ValueError` if it is damaged, or too large."""
    path = pathlib.Path(path)
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path} must be a file with JSON, and is none")
    if status.st_size > LARGEST:
        raise ValueError(f"{path} must have at most {LARGEST:,} bytes. Received: {status.st_size:,} bytes")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must hold JSON, and is damaged: {error}") from error
    if not isinstance(found, kind):
        raise ValueError(f"{path} must hold a {kind.__name__} in JSON, and is damaged: it holds {found!r:.100}")
    return found


class HeadInPreset(ReadsItsOwnFiles):
    """Mixin of a task whose preset holds its head and which layers are frozen.

    It does not hold the optimizer, which KerasHub 0.32 saves and cannot load.
    """

    def get_config(self):
        frozen = {"trainable": self.trainable, "trainable_parts": trainable_parts(self)}
        return {**super().get_config(), **(frozen if frozen["trainable_parts"] or not self.trainable else {})}

    @classmethod
    def from_config(cls, config):
        return restored(super().from_config, config)

    def save_task_weights(self, filepath):
        save = functools.partial(keras.saving.save_weights, self, objects_to_skip=self._all_but_the_head())
        save_whole(save, filepath)

    def load_task_weights(self, filepath):
        keras.saving.load_weights(self, filepath, objects_to_skip=self._all_but_the_head())

    def _all_but_the_head(self):
        return [*flatten_layers(self.backbone), self.optimizer]


def resolve_preset(preset):
    """Returns the folder of a preset that comes with this package, or `preset` as it is.

    Raises:
        ValueError: It is no folder, and nearly the name of such a preset.
    """
    path = TRAINED / str(preset)
    if path.parent == TRAINED and path.is_dir():
        return str(path)
    names = [each.name for each in TRAINED.iterdir() if each.is_dir()]
    close = difflib.get_close_matches(str(preset), names, n=1, cutoff=0.8)
    if close and not os.path.exists(preset):
        raise ValueError(f"There is no preset {str(preset)!r}: did you mean {close[0]!r}?")
    return str(preset)


def check_card(card):
    """Raises if `card` is not a dict with lines of a model card."""
    fits = card is None or (isinstance(card, dict) and set(card) <= set(FIELDS))
    rule = f"Argument `card` must be a dict with some of the keys {', '.join(map(repr, FIELDS))}"
    _arguments.check(fits, rule, card=card)


def model_card(lm: Any, card: dict) -> str:
    """Returns the text of `README.md`, in the form that Hugging Face and Kaggle show."""
    backbone, tokenizer = lm.backbone, getattr(lm.preprocessor, "tokenizer", None)
    cells = ", ".join(repr(layer.cell) for layer in backbone.recurrent_layers)
    rows = {
        "cells": f"`{cells}`",
        "weights": f"{lm.count_params():,}",
        "vocabulary": f"{backbone.vocabulary_size:,} tokens",
        "tokenizer": "none" if tokenizer is None else _described(tokenizer),
        **{name: card.get(name) for name in FIELDS},
        "saved with": f"Keras {keras.__version__}, KerasHub {keras_hub.__version__}",
    }
    table = "\n".join(f"| {name} | {'not given' if value is None else value} |" for name, value in rows.items())
    return f"""---
library_name: keras-hub
pipeline_tag: text-generation
license: {card.get("license") or "unknown"}
tags: [keras, rnn, language-model]
---

# A recurrent language model

| | |
| --- | --- |
{table}

```python
import keras_hub

import keras_adaptive_rnn.hub  # Registers the classes of the model.

lm = keras_hub.models.CausalLM.from_preset("THE_PATH_OR_HANDLE_OF_THIS_PRESET")
lm.compile(sampler="top_k")
print(lm.generate("The"))
```
"""


def _described(tokenizer):
    split = getattr(tokenizer, "split", None)
    return type(tokenizer).__name__ if split is None else f"{type(tokenizer).__name__}, by {split}"


def upload_preset(uri: str, preset: str | os.PathLike) -> None:
    """Uploads the folder of a preset to Hugging Face or Kaggle, with its model card.

    It is `keras_hub.upload_preset`, except that the card is the `README.md` of the folder: for a new model on Hugging
    Face, KerasHub 0.32 writes another one over it, and then deletes it.

    Args:
        uri: `"hf://user/name"` or `"kaggle://user/model/keras/variation"`.
        preset: Path of a folder that `save_to_preset` has written.

    Raises:
        FileNotFoundError: There is no such folder.
        ValueError: `uri` is of neither form.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> hub.upload_preset("hf://user/my_lm", "a_folder_that_is_not_there")
    Traceback (most recent call last):
    FileNotFoundError: The preset directory a_folder_that_is_not_there doesn't exist.
    """
    card = pathlib.Path(preset) / "README.md"
    if uri.startswith("hf://") and card.exists():
        import huggingface_hub

        # Where the remote has a card, KerasHub writes none.
        remote = huggingface_hub.create_repo(repo_id=uri.removeprefix("hf://"), exist_ok=True)
        huggingface_hub.upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id=remote.repo_id)
    keras_hub.upload_preset(uri, str(preset))
