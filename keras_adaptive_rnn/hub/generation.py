"""Generation: reading prompts, and writing on from them.

KerasHub's samplers hold the loop. Each of its turns reads the token before `index`; a row whose prompt goes on beyond
that has its next token kept instead of one drawn. A state must not read a token twice, so what is read before the loop
is the first `index - 1` tokens, `index` being the length of the shortest prompt.
"""

import functools
import itertools
import math
import threading
import warnings
from typing import NamedTuple

import keras
import keras_hub
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, engine

# A prompt is read at the smallest of the lengths 16, 32, 64, ... that holds it, so that few lengths are compiled.
SMALLEST_BUCKET = 16
# A long text is read in pieces of this many tokens.
PIECE = 512
# Tokens that a piece of streamed text is decoded with, as a token may look different at the start of a text.
CONTEXT = 8
# The samplers that have a name.
SAMPLERS = ("greedy", "top_k", "top_p", "random", "beam", "contrastive")
# Held while the function of a model is made, so that no other thread finds it incomplete.
MAKING = threading.Lock()


def check_sampler(sampler):
    """Raises if a recurrent model cannot write with this sampler."""
    if sampler == "speculative" or isinstance(sampler, keras_hub.samplers.SpeculativeSampler):
        raise ValueError(
            "Argument `sampler` must not be speculative: it drops tokens that the model has read already, and a "
            f"recurrent state cannot forget them. Received: sampler={sampler!r}"
        )
    # KerasHub keeps a name that it does not know, and a class, and would fail after the training.
    is_name = isinstance(keras_hub.samplers.get(sampler), (str, type))
    rule = f"Argument `sampler` must be a sampler, or one of {', '.join(map(repr, SAMPLERS))}"
    _arguments.check(not is_name, rule, sampler=sampler)
    rule = "Argument `sampler` must return one text for each prompt: use `BeamSampler(return_all_beams=False)`"
    _arguments.check(not getattr(sampler, "return_all_beams", False), rule, sampler=sampler)


# Prompts.


class Prompts(NamedTuple):
    """The prompts of one call.

    Attributes:
        rows: The token ids of each prompt, as lists.
        kind: How the prompts were given: `"string"`, `"strings"` or `"ids"`.
        before: How many tokens each row begins with that the user has not given: a start token, or the last token of
            what was read before, which no state contains yet.
        cache: The states before the first token, or `None`.
        width: The length of a padded batch of ids, or `None`.
    """

    rows: list
    kind: str
    before: int
    cache: list | None
    width: int | None


def prompts_of(lm, inputs, states=None):
    """Returns the `Prompts` that a user gives, or raises if nothing can be written from them."""
    rows, kind = _tokenized(lm, inputs)
    starts, cache = [[]] * len(rows), None
    if states is not None:
        starts, cache = ops.convert_to_numpy(states["token_ids"]).tolist(), states["cache"]
        if len(starts) != len(rows):
            raise ValueError(
                "Argument `states` must be for as many texts as there are prompts. "
                f"Received: states of {len(starts)} texts, and {len(rows)} prompts"
            )
    elif kind != "ids":
        start = getattr(lm.preprocessor.tokenizer, "start_token_id", None)
        starts = [[] if start is None else [start]] * len(rows)
    rows = [[*start, *row] for start, row in zip(starts, rows, strict=True)]
    size = lm.backbone.vocabulary_size
    for k, row in enumerate(rows):
        if not row:
            raise ValueError(
                f"Argument `inputs` must not hold an empty prompt, as there is no token to begin with: give one, or a "
                f"tokenizer with a `start_token`. Received: nothing in row {k}"
            )
        if min(row) < 0 or max(row) >= size:
            raise ValueError(
                f"Argument `inputs` must hold token ids from 0 to {size - 1}. "
                f"Received: {min(row)} to {max(row)} in row {k}"
            )
    width = inputs["token_ids"].shape[1] if isinstance(inputs, dict) else None
    return Prompts(rows, kind, len(starts[0]), cache, width)


def _tokenized(lm, inputs):
    if isinstance(inputs, dict):
        ids, mask = (ops.convert_to_numpy(inputs[name]) for name in ("token_ids", "padding_mask"))
        mask = mask.astype(bool)
        if ids.ndim != 2 or mask.shape != ids.shape or np.any(mask[:, 1:] > mask[:, :-1]):
            raise ValueError(
                "Argument `inputs` must have 'token_ids' and 'padding_mask' of one shape (batch, time), padded on the "
                f"right. Received: shapes {ids.shape} and {mask.shape}, and the mask {mask.astype(int)}"
            )
        return [row[present].tolist() for row, present in zip(ids, mask, strict=True)], "ids"
    if isinstance(inputs, str):
        return _tokenized(lm, [inputs])[0], "string"
    rows = [row.decode() if isinstance(row, bytes) else row for row in inputs]
    if not rows:
        raise ValueError("Argument `inputs` must hold at least one prompt. Received: an empty list")
    if not all(isinstance(row, str) for row in rows):
        return [_ids(row, k) for k, row in enumerate(rows)], "ids"
    rule = "Argument `inputs` must be token ids, as the model has no preprocessor"
    _arguments.check(lm.preprocessor is not None, rule, inputs=inputs)
    tokenizer = lm.preprocessor.tokenizer
    ids = [[int(token) for token in ops.convert_to_numpy(tokenizer(row))] for row in rows]
    _warn_of_unknown(tokenizer, rows, ids)
    return ids, "strings"


def _ids(row, k):
    """Returns the token ids of a prompt as a list, or raises if it holds something else."""
    ids = np.asarray(ops.convert_to_numpy(row) if ops.is_tensor(row) else row)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "biuf"):
        raise ValueError(
            "Argument `inputs` must be a string, a list of strings, or token ids: a list of lists of integers, or a "
            f"dict of 'token_ids' and 'padding_mask'. Received: {row!r} in row {k}"
        )
    return ids.astype(int).tolist()


def _warn_of_unknown(tokenizer, texts, rows):
    unknown, token = getattr(tokenizer, "unknown_token_id", None), getattr(tokenizer, "unknown_token", None)
    if unknown is None or token is None:
        return
    count = sum(row.count(unknown) - text.count(token) for text, row in zip(texts, rows, strict=True))
    if count > 0:
        warnings.warn(
            f"The vocabulary lacks {count} of the {sum(map(len, rows))} tokens of the prompts; the model reads "
            f"{token!r} in their place.",
            stacklevel=4,
        )


def length_to_write_to(lm, prompts, max_length):
    """Returns the final number of tokens of a row, or raises if a prompt is as long already."""
    if max_length is not None:
        length = max_length if max_length == math.inf else _arguments.integer("max_length", max_length)
    elif prompts.width is not None:
        length = prompts.width
    elif lm.preprocessor is None:
        raise ValueError("Argument `max_length` must be given, as the model has no preprocessor. Received: None")
    else:
        length = lm.preprocessor.sequence_length
    # The last token of the text read before is in the row, too.
    length += 0 if prompts.cache is None else 1
    longest = max(map(len, prompts.rows))
    if longest >= length:
        raise ValueError(
            f"Argument `max_length` must be larger than the longest prompt, which has {longest} tokens. To write on "
            f"from a text of any length, `read` it first, and pass `states`. Received: max_length={length}"
        )
    return length


def stop_tokens(lm, stop_token_ids):
    """Returns the ids of the tokens that end a row, a list, or `None`."""
    if isinstance(stop_token_ids, str) and stop_token_ids == "auto":
        tokenizer = getattr(lm.preprocessor, "tokenizer", None)
        ids = [getattr(tokenizer, name, None) for name in ("end_token_id", "end_token2_id")]
        return [token for token in ids if token is not None] or None
    if stop_token_ids is None:
        return None
    return [_arguments.integer("stop_token_ids", token, minimum=0) for token in stop_token_ids] or None


def padded(rows, length, stop_token_ids=None):
    """Returns rows as arrays `token_ids` and `padding_mask`, `[batch, length]`."""
    # A sampler ends a row at the first stop token, padding included.
    filler = next(token for token in itertools.count() if token not in (stop_token_ids or ()))
    token_ids = np.full((len(rows), length), filler, dtype="int32")
    mask = np.zeros((len(rows), length), dtype=bool)
    for k, row in enumerate(rows):
        token_ids[k, : len(row)], mask[k, : len(row)] = row, True
    return {"token_ids": token_ids, "padding_mask": mask}


# Reading.


def bucket(length):
    """Returns the length at which a prompt is read."""
    return max(SMALLEST_BUCKET, 1 << (length - 1).bit_length())


def read_rows(lm, rows, cache=None):
    """Reads all tokens of each row but the last, and returns the states of `RecurrentCausalLM.read`."""
    if cache is None:
        cache = lm.get_initial_cache(len(rows))
    longest = max(map(len, rows)) - 1
    for start in range(0, longest, PIECE):
        pieces = [row[:-1][start : start + PIECE] for row in rows]
        batch = padded(pieces, bucket(max(map(len, pieces))))
        with engine.inference():
            ids, mask = (ops.convert_to_tensor(batch[name]) for name in ("token_ids", "padding_mask"))
            cache = lm.read_compiled(ids, mask, cache)
    return {"cache": cache, "token_ids": np.array([row[-1:] for row in rows], dtype="int32")}


# Writing.


def by_bucket(lm, function):
    """Returns `function`, which writes for one batch, for prompts of any lengths."""

    def generate(inputs, stop_token_ids=None):
        mask = inputs["padding_mask"]
        lengths = mask.sum(axis=1)
        # Beam search would also score the tokens of longer prompts, so it gets prompts of equal length.
        by_length = isinstance(lm.sampler, keras_hub.samplers.BeamSampler)
        groups = [np.flatnonzero(lengths == n) for n in np.unique(lengths)] if by_length else [np.arange(len(mask))]
        results = []
        for rows in groups:
            group = inputs
            if by_length:
                group = keras.tree.map_structure(lambda x, rows=rows: ops.take(x, rows, axis=0), inputs)
            index, length = int(lengths[rows].min()), mask.shape[1]
            size = min(bucket(index - 1), length) if index > 1 else 0
            group = {**group, "prefix_ids": group["token_ids"][:, :size]}
            result = function(group, stop_token_ids=stop_token_ids)
            results.append({name: ops.convert_to_numpy(x) for name, x in result.items()})
        order = np.argsort(np.concatenate(groups))
        return {name: np.concatenate([part[name] for part in results])[order] for name in results[0]}

    return generate


def generate_step(lm, inputs, stop_token_ids=None):
    """Writes for one batch, all in tensors; returns `token_ids` and `padding_mask`."""
    token_ids, mask = inputs["token_ids"], ops.cast(inputs["padding_mask"], "bool")
    batch_size, length = token_ids.shape
    index = ops.min(ops.sum(ops.cast(mask, "int32"), axis=-1))
    cache = inputs["cache"] if "cache" in inputs else lm.get_initial_cache(batch_size)
    prefix, ids = None, inputs.get("prefix_ids", token_ids)
    if ids.shape[1]:
        is_read = ops.broadcast_to(ops.arange(ids.shape[1], dtype="int32") < index - 1, ids.shape)
        prefix, cache = lm.backbone.read(ids, cache, is_read)

    def next(prompt, cache, index):
        token = ops.slice(prompt, [0, index - 1], [prompt.shape[0], 1])
        logits, hidden, cache = lm.call_with_cache(token, cache)
        return ops.squeeze(logits, 1), ops.squeeze(hidden, 1), cache

    hidden_states = None
    if isinstance(lm.sampler, keras_hub.samplers.ContrastiveSampler):
        # It compares with every hidden state below `index`, of which the last is not read yet.
        _, last, _ = next(token_ids, cache, index)
        hidden_states = ops.zeros((batch_size, length, last.shape[-1]), dtype=last.dtype)
        if prefix is not None:
            hidden_states = ops.slice_update(hidden_states, (0, 0, 0), ops.cast(prefix, last.dtype))
        hidden_states = ops.slice_update(hidden_states, (0, index - 1, 0), ops.expand_dims(last, 1))
    token_ids = lm.sampler(
        next=next,
        prompt=token_ids,
        cache=cache,
        index=index,
        mask=mask,
        stop_token_ids=stop_token_ids,
        hidden_states=hidden_states,
        # Without the model, JAX would compile the current weights into the function.
        model=lm,
    )
    is_written = ops.ones_like(mask)
    if stop_token_ids is not None:
        is_stop = functools.reduce(ops.logical_or, [ops.equal(token_ids, token) for token in stop_token_ids])
        is_end = ops.cast(ops.logical_and(is_stop, ops.logical_not(mask)), "int32")
        is_written = ops.equal(ops.cumsum(is_end, axis=-1) - is_end, 0)
    return {"token_ids": token_ids, "padding_mask": is_written}


def as_given(lm, prompts, rows, starts, stop_token_ids):
    """Returns rows of token ids, from `starts` on, as strings or ids like the prompts."""
    rows = [row[start:] for row, start in zip(rows, starts, strict=True)]
    if prompts.kind == "ids":
        return padded(rows, prompts.width or max(map(len, rows)))
    rows = [row[:-1] if row and row[-1] in (stop_token_ids or ()) else row for row in rows]
    texts = [lm.preprocessor.tokenizer.detokenize(row) if row else "" for row in rows]
    return texts[0] if prompts.kind == "string" else texts


def stream(lm, prompt, max_length=None, stop_token_ids="auto", states=None):
    """Returns an iterator of pieces of text; errors are raised before the first piece is asked for."""
    if lm.preprocessor is None or not isinstance(prompt, str):
        raise ValueError(
            "Argument `prompt` must be a string, and the model must have a preprocessor, to stream text. "
            f"Received: prompt={prompt!r}, preprocessor={lm.preprocessor!r}"
        )
    if isinstance(lm.sampler, (keras_hub.samplers.BeamSampler, keras_hub.samplers.ContrastiveSampler)):
        raise ValueError(
            "Argument `sampler` of `compile` must choose one token after another, such as 'top_k', to stream text: "
            f"beam and contrastive search may still change what they have written. Received: sampler={lm.sampler!r}"
        )
    prompts = prompts_of(lm, prompt, states)
    max_length = length_to_write_to(lm, prompts, max_length)
    stop_token_ids = stop_tokens(lm, stop_token_ids) or ()
    states, (row,) = read_rows(lm, prompts.rows, prompts.cache), prompts.rows

    def tokens():
        token, cache, left = int(states["token_ids"][0, 0]), states["cache"], max_length - len(row)
        while left > 0:
            with engine.inference():
                logits, cache = lm.step_compiled(ops.convert_to_tensor([token], dtype="int32"), cache)
                token = int(lm.sampler.get_next_token(lm.sampler.compute_probabilities(logits))[0])
            if token in stop_token_ids:
                return
            yield token
            left -= 1

    return _pieces(lm.preprocessor.tokenizer, row[-CONTEXT:], tokens())


def _pieces(tokenizer, context, tokens):
    """Yields the text of tokens as soon as they make up whole characters."""
    new = []
    for token in tokens:
        new.append(token)
        before = tokenizer.detokenize(context) if context else ""
        text = tokenizer.detokenize([*context, *new])[len(before) :]
        # A part of a character, in a vocabulary of bytes.
        if text.endswith("\ufffd") and len(new) < CONTEXT and getattr(tokenizer, "unknown_token", None) != "\ufffd":
            continue
        yield text
        context, new = [*context, *new][-CONTEXT:], []
