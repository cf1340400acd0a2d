"""A tokenizer of characters, or of the words of a closed vocabulary."""

import collections
import functools
import itertools
import json
import pathlib
import re
from collections.abc import Iterable
from typing import Any, Self

import keras_hub
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.hub import presets

SPLITS = ("character", "word")
UNKNOWN = {"character": "\ufffd", "word": "<unk>"}
ASSET = "vocabulary.json"
# Between white space of ASCII, as `tf.strings.split` does it, which `str.split` does not.
WORD = re.compile(r"[^ \t\n\r\v\f]+")
SPECIAL = ("start_token", "end_token", "pad_token")


@export
class VocabularyTokenizer(presets.ReadsItsOwnFiles, keras_hub.tokenizers.Tokenizer):
    r"""Splits a text into characters, or into the words of a closed vocabulary.

    Characters are Unicode code points, line breaks and spaces included, so that `detokenize(tokenize(text)) == text` as
    long as the vocabulary has every character. Words are what ASCII white space separates. Where words have an
    `end_token`, such as `"<eos>"` in the Penn Treebank, it stands for each line break.

    Args:
        vocabulary: List of distinct strings, each at the place of its id; or the path of a JSON file with such a list.
            `None` (default) is for a vocabulary that is loaded afterwards, as by `from_preset`.
        split: `"character"` (default) or `"word"`.
        unknown_token: The token that stands for every token that the vocabulary lacks. It must be in the vocabulary.
            `None` (default) means `"\ufffd"` for characters and `"<unk>"` for words.
        end_token: Token at the end of a text, or of a line of words; generation stops there. Defaults to `None`: no
            such token.
        start_token: Token before every text. Defaults to `None`.
        pad_token: Token of padding. Defaults to `None`: the unknown token, as the mask says where padding is.
        dtype: Integer dtype of ids. Defaults to `"int32"`.
        **kwargs: As in `keras_hub.tokenizers.Tokenizer`.

    Call arguments:
        inputs: A string, or a list of strings.

    Returns: The ids, an array `[tokens]`; for a list of strings, a list of lists.

    Raises:
        ValueError: `vocabulary` holds a token twice or lacks a special token, or `split` is unknown.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> tokenizer = hub.VocabularyTokenizer.from_text("abracadabra")
    >>> [tokenizer.id_to_token(k) for k in range(tokenizer.vocabulary_size())]
    ['\ufffd', 'a', 'b', 'r', 'c', 'd']
    >>> tokenizer.detokenize(tokenizer(["bad", "cab?"]))
    ['bad', 'cab\ufffd']

    Reference: Melis et al., Mogrifier LSTM (2020), section 4, for both kinds of tokens.
    """

    def __init__(
        self,
        vocabulary: list[str] | str | None = None,
        split: str = "character",
        unknown_token: str | None = None,
        end_token: str | None = None,
        start_token: str | None = None,
        pad_token: str | None = None,
        dtype: str = "int32",
        **kwargs,
    ):
        self.split = _arguments.choice("split", split, SPLITS)
        super().__init__(dtype=dtype, **kwargs)
        self.unknown_token = UNKNOWN[split] if unknown_token is None else unknown_token
        self.end_token, self.start_token, self.pad_token = end_token, start_token, pad_token
        # KerasHub fetches these files of a preset.
        self.file_assets = [ASSET]
        self.built = True
        self.vocabulary: list[str] | None = None
        self._ids: dict[str, int] = {}
        if vocabulary is not None:
            self.set_vocabulary(vocabulary)

    @classmethod
    def from_text(
        cls,
        text: str | Iterable[str],
        split: str = "character",
        min_count: int = 1,
        max_size: int | None = None,
        **kwargs,
    ) -> Self:
        """Makes a tokenizer whose vocabulary is that of a text: the special tokens, then the most frequent ones first.

        Args:
            text: A string, or an iterable of strings, such as an open file.
            min_count: Positive integer: rarer tokens are not in the vocabulary. Defaults to `1`.
            max_size: The largest size of the vocabulary, special tokens included. Defaults to `None`: no limit.
            split, **kwargs: As in the class: unknown_token, end_token, start_token, pad_token, dtype.

        Raises:
            ValueError: The text is empty, or an argument is out of range.
        """
        _arguments.integer("min_count", min_count)
        _arguments.integer("max_size", max_size, minimum=2, optional=True)
        empty = cls(None, split, **kwargs)
        counts: collections.Counter[str] = collections.Counter()
        for part in [text] if isinstance(text, str) else text:
            counts.update(empty._tokens(part))
        _arguments.check(counts, "Argument `text` must hold at least one token", text=text)
        special = dict.fromkeys([empty.unknown_token, *empty.special_tokens])
        frequent = sorted((-n, token) for token, n in counts.items() if n >= min_count and token not in special)
        empty.set_vocabulary([*special, *(token for _, token in frequent)][:max_size])
        return empty

    def set_vocabulary(self, vocabulary: list[str] | str) -> None:
        """Sets the tokens, a list of strings or the path of a JSON file that holds one."""
        if isinstance(vocabulary, (str, pathlib.Path)):
            vocabulary = json.loads(pathlib.Path(vocabulary).read_text(encoding="utf-8"))
        if isinstance(vocabulary, (bytes, dict)) or not isinstance(vocabulary, Iterable):
            raise ValueError(
                f"Argument `vocabulary` must be a list of strings, or the path of one. Received: {vocabulary!r:.100}"
            )
        vocabulary = list(vocabulary)
        wrong: list[Any] = [token for token in vocabulary if not isinstance(token, str) or not token]
        counts = collections.Counter(() if wrong else vocabulary)
        wrong += [token for token, count in counts.items() if count > 1]
        if wrong or not vocabulary:
            raise ValueError(
                "Argument `vocabulary` must be a list of distinct strings that are not empty. "
                f"Received: {wrong[:5] or vocabulary!r:.100}"
            )
        for name in ("unknown_token", *SPECIAL):
            token = getattr(self, name)
            if token is not None and token not in counts:
                raise ValueError(
                    f"Argument `vocabulary` must hold `{name}`, as every token needs an id. "
                    f"Received: {name}={token!r}, vocabulary=[{', '.join(map(repr, vocabulary[:5]))}, ...]"
                )
        self.vocabulary = vocabulary
        self._ids = {token: k for k, token in enumerate(vocabulary)}
        self.__dict__.pop("_code_points", None)

    # KerasHub's interface of tokenizers.

    def vocabulary_size(self) -> int:
        return len(self.get_vocabulary())

    def get_vocabulary(self) -> list[str]:
        if self.vocabulary is None:
            raise ValueError(
                f"{type(self).__name__} '{self.name}' has no vocabulary yet: pass `vocabulary`, or use `from_text`."
            )
        return self.vocabulary

    def id_to_token(self, id: int) -> str:
        vocabulary = self.get_vocabulary()
        _arguments.check(0 <= id < len(vocabulary), f"Argument `id` must be in [0, {len(vocabulary) - 1}]", id=id)
        return vocabulary[id]

    def token_to_id(self, token: str) -> int:
        return self._ids.get(token, self.unknown_token_id)

    def _id_of(self, token):
        self.get_vocabulary()
        return None if token is None else self._ids[token]

    @property
    def unknown_token_id(self) -> int:
        return self._id_of(self.unknown_token)

    @property
    def end_token_id(self) -> int | None:
        return self._id_of(self.end_token)

    @property
    def start_token_id(self) -> int | None:
        return self._id_of(self.start_token)

    @property
    def pad_token_id(self) -> int:
        return self._id_of(self.pad_token or self.unknown_token)

    @property
    def special_tokens(self) -> list[str]:
        return list(dict.fromkeys(filter(None, (getattr(self, name) for name in SPECIAL))))

    @property
    def special_token_ids(self) -> list[int]:
        return [self._id_of(token) for token in self.special_tokens]

    def tokenize(self, inputs: Any) -> Any:
        if self._use_tf_workflow():
            from keras_adaptive_rnn.hub import _tensorflow

            return _tensorflow.tokenize(inputs, self)
        if isinstance(inputs, (str, bytes)):
            return self._tokenize(inputs)
        texts = ops.convert_to_numpy(inputs).tolist() if hasattr(inputs, "dtype") else inputs
        fits = isinstance(texts, (list, tuple)) and all(isinstance(text, (str, bytes)) for text in texts)
        _arguments.check(fits, "Argument `inputs` must be a string or a list of strings", inputs=inputs)
        return [self._tokenize(text).tolist() for text in texts]

    # KerasHub's own turns strings into tensors of TensorFlow.
    def call(self, inputs, *args, training=None, **kwargs):
        return self.tokenize(inputs)

    def detokenize(self, inputs: Any) -> Any:
        """Returns the text of ids `[tokens]`, or a list of texts for a batch of them."""
        if self._use_tf_workflow():
            from keras_adaptive_rnn.hub import _tensorflow

            return _tensorflow.detokenize(inputs, self)
        rows = ops.convert_to_numpy(inputs) if ops.is_tensor(inputs) else inputs
        if len(rows) and np.ndim(rows[0]):
            return [self._detokenize(row) for row in rows]
        return self._detokenize(rows)

    def _tokens(self, text):
        if self.split == "character":
            return text
        text = text if self.end_token is None else text.replace("\n", f" {self.end_token} ")
        return WORD.findall(text)

    def _tokenize(self, text):
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        if self.split == "character":
            return self._code_points[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")]
        ids, unknown = self._ids, self.unknown_token_id
        return np.fromiter((ids.get(token, unknown) for token in self._tokens(text)), dtype=self.compute_dtype)

    @functools.cached_property
    def _code_points(self):
        """The id of every code point: ten times as fast as a look-up of each character in a dict."""
        table = np.full(0x110000, self.unknown_token_id, dtype=self.compute_dtype)
        for k, token in enumerate(self.get_vocabulary()):
            if len(token) == 1:
                table[ord(token)] = k
        return table

    def _detokenize(self, ids):
        # A model may have more tokens than its tokenizer.
        vocabulary, size = self.get_vocabulary(), self.vocabulary_size()
        tokens = [vocabulary[k] if k < size else self.unknown_token for k in ids]
        if self.split == "character":
            return "".join(tokens)
        lines = itertools.groupby(tokens, lambda token: token == self.end_token)
        return "".join("\n" * len(list(line)) if is_end else " ".join(line) for is_end, line in lines)

    # Files.

    def get_config(self):
        config = super().get_config()
        # The vocabulary is a file of its own, beside the config.
        special = {name: getattr(self, name) for name in ("unknown_token", *SPECIAL)}
        return {**config, "vocabulary": None, "split": self.split, **special}

    def save_assets(self, dir_path):
        path = pathlib.Path(dir_path) / ASSET
        path.write_text(json.dumps(self.get_vocabulary(), ensure_ascii=False, indent=0), encoding="utf-8")

    def load_assets(self, dir_path):
        path = pathlib.Path(dir_path) / ASSET
        vocabulary = presets.read_json(path, list)
        try:
            self.set_vocabulary(vocabulary)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
