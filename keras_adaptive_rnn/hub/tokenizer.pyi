"""A tokenizer of characters, or of the words of a closed vocabulary."""

from collections.abc import Iterable
from typing import Any, Self

import keras_hub

from keras_adaptive_rnn.hub import presets

SPLITS: Any
UNKNOWN: Any
ASSET: str
WORD: Any
SPECIAL: Any

class VocabularyTokenizer(presets.ReadsItsOwnFiles, keras_hub.tokenizers.Tokenizer):
    """Splits a text into characters, or into the words of a closed vocabulary.

    Characters are Unicode code points, line breaks and spaces included, so that `detokenize(tokenize(text)) == text` as
    long as the vocabulary has every character. Words are what ASCII white space separates. Where words have an
    `end_token`, such as `"<eos>"` in the Penn Treebank, it stands for each line break.

    Padding needs no token of its own, since a mask says what is padding: unless `pad_token` is given, padding has the
    id of `unknown_token`, and a vocabulary of 10,000 words makes 10,000 logits.

    Args:
        vocabulary: List of distinct strings; the id of a token is its place. A path of a JSON file that holds such
            a list is read. `None` (default) only makes sense when the vocabulary is loaded afterwards, as by
            `from_preset`.
        split: `"character"` (default) or `"word"`.
        unknown_token: The token that is read in place of every token that the vocabulary lacks. It must be in the
            vocabulary. `None` (default) means `"\\ufffd"` for characters and `"<unk>"` for words.
        end_token: Token at the end of a text, or of a line of words; generation stops there. Defaults to `None`: no
            such token.
        start_token: Token before every text. Defaults to `None`.
        pad_token: Token of padding. Defaults to `None`: the unknown token.
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
    ['\\ufffd', 'a', 'b', 'r', 'c', 'd']
    >>> tokenizer.detokenize(tokenizer(["bad", "cab?"]))
    ['bad', 'cab\\ufffd']

    Reference: Melis et al., Mogrifier LSTM (2020), section 4, for both kinds of tokens.
    """

    split: str
    unknown_token: str | None
    file_assets: Any
    built: bool
    vocabulary: list[str] | str | None
    end_token: str | None
    start_token: str | None
    pad_token: str | None

    def __init__(
        self,
        vocabulary: list[str] | str | None = None,
        split: str = "character",
        unknown_token: str | None = None,
        end_token: str | None = None,
        start_token: str | None = None,
        pad_token: str | None = None,
        dtype: str = "int32",
        *,
        name: str | None = None,
        trainable: bool = True,
    ) -> None: ...
    @classmethod
    def from_text(
        cls,
        text: str | Iterable[str],
        split: str = "character",
        min_count: int = 1,
        max_size: int | None = None,
        unknown_token: str | None = None,
        end_token: str | None = None,
        start_token: str | None = None,
        pad_token: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Makes a tokenizer whose vocabulary is that of a text: the special tokens, then the most frequent ones first.

        Args:
            text: A string, or an iterable of strings, such as an open file.
            min_count: Positive integer: rarer tokens are not in the vocabulary. Defaults to `1`.
            max_size: The largest size of the vocabulary, special tokens included. Defaults to `None`: no limit.
            split, unknown_token, end_token, start_token, pad_token, **kwargs: As in the class.

        Raises:
            ValueError: The text is empty, or an argument is out of range.
        """

    def set_vocabulary(self, vocabulary: list[str] | str) -> None:
        """Sets the tokens, a list of strings or the path of a JSON file that holds one."""

    def vocabulary_size(self) -> int: ...
    def get_vocabulary(self) -> list[str]: ...
    def id_to_token(self, id: int) -> str: ...
    def token_to_id(self, token: str) -> int: ...
    @property
    def unknown_token_id(self) -> int: ...
    @property
    def end_token_id(self) -> int | None: ...
    @property
    def start_token_id(self) -> int | None: ...
    @property
    def pad_token_id(self) -> int: ...
    @property
    def special_tokens(self) -> list[str]: ...
    @property
    def special_token_ids(self) -> list[int]: ...
    def tokenize(self, inputs: Any) -> Any: ...
    def call(self, inputs: Any, *args: Any, training: bool | None = None, **kwargs: Any) -> Any: ...
    def detokenize(self, inputs: Any) -> Any:
        """Returns the text of ids `[tokens]`, or a list of texts for a batch of them."""

    def get_config(self) -> dict[str, Any]: ...
    def save_assets(self, dir_path: Any) -> None: ...
    def load_assets(self, dir_path: Any) -> None: ...
