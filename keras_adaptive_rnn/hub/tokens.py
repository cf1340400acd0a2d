"""Files of token ids, which are read from the disk as they are needed."""

import os
import pathlib
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn._hub_options import check_utf8
from keras_adaptive_rnn.files import replaced

# Characters that are read and tokenized at once; a piece ends at the end of a line.
PIECE = 1 << 20


def write_tokens(
    text_path: str | os.PathLike, tokenizer: Any, path: str | os.PathLike, verbose: Any = "auto"
) -> np.ndarray:
    """Tokenizes a file of any size once, into a file of token ids, and returns these memory-mapped.

    The file is NumPy's `.npy`, in the smallest unsigned integers that hold the vocabulary: `np.load(path,
    mmap_mode="r")` opens it again, and `fit_streams` reads from it without loading it.

    Args:
        text_path: Path of a text in UTF-8.
        tokenizer: A tokenizer of KerasHub, such as `keras_adaptive_rnn.hub.VocabularyTokenizer`.
        path: Path of the file to write. It appears when it is complete.
        verbose: Whether to show a progress bar. Defaults to `"auto"`: yes.

    Returns: The ids, a read-only `np.memmap` `[tokens]`.

    Raises:
        ValueError: The text is empty, is not UTF-8, or has bytes of zero.
        OSError: The text cannot be read.

    Example:

    >>> import pathlib, tempfile
    >>> from keras_adaptive_rnn import hub
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "book.txt").write_text("to be or not to be")
    >>> tokenizer = hub.VocabularyTokenizer.from_text("to be or not to be")
    >>> ids = hub.write_tokens(folder / "book.txt", tokenizer, folder / "book.npy", verbose=False)
    >>> tokenizer.detokenize(ids[:5])
    'to be'
    """
    target = pathlib.Path(path)
    with replaced(target) as new:
        write_token_ids(pathlib.Path(text_path), tokenizer, new, verbose)
    return np.load(target, mmap_mode="r")


def write_token_ids(source, tokenizer, path, verbose):
    """Writes a file of token ids, and returns how many there are."""
    dtype, count = np.min_scalar_type(tokenizer.vocabulary_size() - 1), 0
    bar = keras.utils.Progbar(source.stat().st_size, verbose=int(verbose is not False), unit_name="byte")

    def write_header(file):
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(file, header)

    # Not through a map in memory: where the disk is full, that would end the process.
    with path.open("wb") as file:
        write_header(file)
        for text, position in pieces(source):
            ids = np.asarray(ops.convert_to_numpy(tokenizer(text)))
            file.write(ids.astype(dtype).tobytes())
            count += len(ids)
            bar.update(position)
        # NumPy leaves room in a header for an array that grows.
        file.seek(0)
        write_header(file)
    if not count:
        raise ValueError(f"Argument `text_path` must name a text that is not empty. Received: {source}")
    return count


def pieces(path):
    """Yields a text in UTF-8 in pieces that end with a line, and how many bytes have been read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            while piece := file.read(PIECE) + file.readline():
                if "\0" in piece:
                    check_utf8(path)
                yield piece, file.buffer.tell()
    except UnicodeDecodeError as error:
        # It knows its place in a buffer only.
        check_utf8(path)
        raise ValueError(f"{path} is not UTF-8: {error.reason}") from None
