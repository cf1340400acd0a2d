"""What a preset says about itself, and how it is shared."""

import os
import pathlib
from typing import Any

import keras
import keras_hub

from keras_adaptive_rnn._freezing import trainable_parts
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn._saving import restored

# The presets that come with this package, by name.
TRAINED = pathlib.Path(__file__).parent / "trained"
# What only the one who has trained a model knows.
FIELDS = ("data", "license", "perplexity", "training")


class HeadInPreset:
    """Mixin of a task whose head is in the preset, but not the optimizer, which KerasHub 0.32 saves and cannot load.

    So is which of its layers are frozen.
    """

    def get_config(self):
        frozen = {"trainable": self.trainable, "trainable_parts": trainable_parts(self)}
        return {**super().get_config(), **(frozen if frozen["trainable_parts"] or not self.trainable else {})}

    @classmethod
    def from_config(cls, config):
        return restored(super().from_config, config)

    def save_task_weights(self, filepath):
        keras.saving.save_weights(self, filepath, objects_to_skip=self._all_but_the_head())

    def load_task_weights(self, filepath):
        keras.saving.load_weights(self, filepath, objects_to_skip=self._all_but_the_head())

    def _all_but_the_head(self):
        return [*flatten_layers(self.backbone), self.optimizer]


def located(preset):
    """Returns the folder of a preset that comes with this package, or `preset` as it is."""
    path = TRAINED / str(preset)
    return str(path) if path.parent == TRAINED and path.is_dir() else str(preset)


def check_card(card):
    """Raises if `card` is not a dict of what a model card may say."""
    if card is None:
        return
    if not isinstance(card, dict) or not set(card) <= set(FIELDS):
        raise ValueError(
            f"Argument `card` must be a dict with some of the keys {', '.join(map(repr, FIELDS))}. "
            f"Received: card={card!r}"
        )


def model_card(lm: Any, card: dict) -> str:
    """Returns the text of `README.md`, in the form that Hugging Face and Kaggle show."""
    backbone, tokenizer = lm.backbone, getattr(lm.preprocessor, "tokenizer", None)
    cells = ", ".join(repr(layer.cell) for layer in backbone.recurrent_layers)
    rows = {
        "cells": f"`{cells}`",
        "weights": f"{lm.count_params():,}",
        "vocabulary": f"{backbone.vocabulary_size:,} tokens",
        "tokenizer": "none" if tokenizer is None else _described(tokenizer),
        "data": card.get("data"),
        "license": card.get("license"),
        "perplexity": card.get("perplexity"),
        "training": card.get("training"),
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

    It is `keras_hub.upload_preset`, except that the `README.md` of the folder is what is shown: for a new model on
    Hugging Face, KerasHub 0.32 writes another one over it, and then deletes it.

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
