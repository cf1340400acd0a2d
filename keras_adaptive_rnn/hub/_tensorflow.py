"""Tokenization inside `tf.data`, where KerasHub runs it in `fit(strings)` on every backend."""

import tensorflow as tf


def tokenize(inputs, tokenizer):
    """Returns the ids of a tensor of strings, ragged if it has several."""
    inputs = tf.convert_to_tensor(inputs)
    if tokenizer.split == "character":
        tokens = tf.strings.unicode_split(inputs, "UTF-8")
    else:
        if tokenizer.end_token is not None:
            inputs = tf.strings.regex_replace(inputs, "\n", f" {tokenizer.end_token} ")
        tokens = tf.strings.split(inputs)
    vocabulary = tokenizer.get_vocabulary()
    # Made anew in each graph, which it belongs to.
    keys = tf.constant(vocabulary)
    ids = tf.lookup.KeyValueTensorInitializer(keys, tf.range(len(vocabulary), dtype=tf.int64))
    table = tf.lookup.StaticHashTable(ids, default_value=tokenizer.unknown_token_id)
    return tf.cast(table[tokens], tokenizer.compute_dtype)


def detokenize(inputs, tokenizer):
    """Returns the strings of a tensor of ids."""
    inputs = inputs if isinstance(inputs, tf.RaggedTensor) else tf.convert_to_tensor(inputs)
    # A model may have more tokens than its tokenizer.
    unknown = tf.cast(tokenizer.unknown_token_id, inputs.dtype)
    inputs = tf.where(inputs < tf.cast(tokenizer.vocabulary_size(), inputs.dtype), inputs, unknown)
    tokens = tf.gather(tf.constant(tokenizer.get_vocabulary()), inputs)
    if tokenizer.split == "character":
        return tf.strings.reduce_join(tokens, axis=-1)
    text = tf.strings.reduce_join(tokens, axis=-1, separator=" ")
    if tokenizer.end_token is None:
        return text
    # A line break has no spaces around it.
    return tf.strings.regex_replace(text, f" ?\\Q{tokenizer.end_token}\\E ?", "\n")
