"""Leaks in labelled texts: tokens that give the label away, and labels that can be guessed from a part of the input."""

import collections
import dataclasses
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import keras
import numpy as np

from keras_adaptive_rnn import _arguments


class TokenPMI(NamedTuple):
    """A token that is typical of a label.

    Attributes:
        token: The token.
        pmi: Number, the pointwise mutual information of the token and the label, in nats.
        share: Number, the share of the label's texts that hold the token.
    """

    token: Hashable
    pmi: float
    share: float


def token_label_pmi(
    tokens: Sequence[Sequence[Hashable]], labels: Sequence[Hashable], smoothing: float = 100, top: int = 10
) -> dict[Hashable, list[TokenPMI]]:
    r"""Returns the tokens that say most about each label, by their pointwise mutual information.

    $$\mathrm{PMI}(w, c) = \log \frac{p(w, c)}{p(w)\, p(c)}$$

    where the probabilities are shares of all occurrences of tokens, after `smoothing` has been added to the count of
    every token with every label: the more, the fewer rare tokens come out on top. In a set of texts without leaks, the
    list holds what the task is about; in others, what the annotators were prone to write.

    Args:
        tokens: A sequence of texts, each a sequence of tokens: strings, or integers.
        labels: The label of each text.
        smoothing: Non-negative number. Defaults to `100`.
        top: Positive integer, number of tokens for each label. Defaults to `10`.

    Returns: Dict by label, of lists of `TokenPMI(token, pmi, share)`, the largest PMI first.

    Example: somebody who wrote contradictions often negated something.

    >>> texts = ["a man sleeps", "a man does not run", "a dog runs", "nobody does not run"] * 50
    >>> labels = ["entailment", "contradiction"] * 100
    >>> found = keras_adaptive_rnn.analysis.token_label_pmi([text.split() for text in texts], labels, smoothing=10)
    >>> found["contradiction"][0].token, found["contradiction"][0].share
    ('does', 1.0)

    Reference: Gururangan et al., Annotation Artifacts in Natural Language Inference Data (2018), section 3.
    """
    smoothing = _arguments.number("smoothing", smoothing, minimum=0)
    top = _arguments.integer("top", top)
    texts, labels = _checked("tokens", tokens, "labels", labels)
    classes, words = list(dict.fromkeys(labels)), list(dict.fromkeys(word for text in texts for word in text))
    if not words:
        raise ValueError("Argument `tokens` must hold at least one token. Received: empty texts")
    counts: dict = {c: collections.Counter() for c in classes}
    holding: dict = {c: collections.Counter() for c in classes}
    for text, label in zip(texts, labels, strict=True):
        counts[label].update(text)
        holding[label].update(set(text))
    table = np.array([[counts[c][word] for c in classes] for word in words]) + smoothing
    p = table / table.sum()
    with np.errstate(divide="ignore"):
        pmi = np.log(p) - np.log(p.sum(axis=1, keepdims=True)) - np.log(p.sum(axis=0))
    best = np.argsort(-pmi, axis=0, kind="stable")[:top]
    return {
        c: [TokenPMI(words[w], float(pmi[w, k]), holding[c][words[w]] / labels.count(c)) for w in best[:, k]]
        for k, c in enumerate(classes)
    }


@dataclasses.dataclass(frozen=True)
class PartialInputProbe:
    """Predictions of a bag of words that sees a part of the inputs.

    Attributes:
        accuracy: Number, the share of texts whose label the probe guesses, each by a probe that did not learn from it.
        majority: Number, the share of the most frequent label, which needs no input at all.
        predictions: List of labels, one for each text.
        hard: Integers, the places of the texts that the probe gets wrong: a test set without the leaks that it uses.
    """

    accuracy: float
    majority: float
    predictions: list
    hard: np.ndarray


def partial_input_probe(
    x_part: Sequence[Sequence[Hashable]],
    y: Sequence[Hashable],
    *,
    folds: int = 5,
    steps: int = 200,
    learning_rate: float = 0.2,
    min_count: int = 2,
    seed: int = 0,
    verbose: bool = True,
) -> PartialInputProbe:
    r"""Returns how well labels can be guessed from a part of the input that should not give them away.

    For example, the hypothesis alone in natural language inference. The probe is a softmax over the mean of a trained
    vector for each token, which starts from the shares of the labels. It is trained on all but one fold of the texts,
    until a tenth of these is predicted no better, and guesses the labels of that fold.

    Args:
        x_part: A sequence of texts, each a sequence of tokens: strings, or integers.
        y: The label of each text.
        folds: Integer of at least 2. Defaults to `5`.
        steps: Positive integer, how many steps to train at most, each on all texts. Defaults to `200`.
        learning_rate: Positive number, of Adam. Defaults to `0.2`.
        min_count: Positive integer: rarer tokens are taken as one. Defaults to `2`.
        seed: Non-negative integer, of the folds. Defaults to `0`.
        verbose: Whether to show progress. Defaults to `True`.

    Returns: A `PartialInputProbe`.

    Raises:
        ValueError: there is only one label, or there are fewer than 10 texts for each fold.

    Example: a leak. Every text of label "no" holds the word "not".

    >>> random = np.random.default_rng(0)
    >>> y = ["yes", "no"] * 100
    >>> texts = [random.choice(list("abcdefgh"), 4).tolist() + ["not"] * (k % 2) for k in range(200)]
    >>> probe = keras_adaptive_rnn.analysis.partial_input_probe(texts, y, verbose=False)
    >>> probe.majority, probe.accuracy > 0.9
    (0.5, True)

    Reference: Gururangan et al., Annotation Artifacts in Natural Language Inference Data (2018), sections 2 and 4;
    Joulin et al., Bag of Tricks for Efficient Text Classification (2017), for the classifier.
    """
    folds, steps = _arguments.integer("folds", folds, minimum=2), _arguments.integer("steps", steps)
    learning_rate = _arguments.number("learning_rate", learning_rate, positive=True)
    min_count, seed = _arguments.integer("min_count", min_count), _arguments.integer("seed", seed, minimum=0)
    _arguments.boolean("verbose", verbose)
    texts, labels = _checked("x_part", x_part, "y", y)
    classes = list(dict.fromkeys(labels))
    if len(classes) < 2:
        raise ValueError(f"Argument `y` must hold at least two labels. Received: {classes}")
    if len(texts) < 10 * folds:
        raise ValueError(
            f"Argument `x_part` must hold at least 10 texts for each of {folds} folds. Received: {len(texts)} texts"
        )
    ids, size = _padded(texts, min_count)
    targets = np.array([classes.index(label) for label in labels])
    predicted = np.zeros(len(texts), "int64")
    places = np.array_split(np.random.default_rng(seed).permutation(len(texts)), folds)
    bar = keras.utils.Progbar(folds, verbose=int(verbose), unit_name="fold")
    for k, fold in enumerate(places):
        others = np.concatenate([place for place in places if place is not fold])
        probe = _trained(ids[others], targets[others], len(classes), size, steps, learning_rate)
        predicted[fold] = np.argmax(probe.predict(ids[fold], batch_size=1024, verbose=0), axis=-1)
        bar.update(k + 1)
    is_right = predicted == targets
    majority = float(np.bincount(targets).max() / len(targets))
    return PartialInputProbe(
        float(is_right.mean()), majority, [classes[c] for c in predicted], np.flatnonzero(~is_right)
    )


def _trained(ids, targets, classes, size, steps, learning_rate):
    """Returns a trained bag of words, a model from ids to logits."""
    shares = np.bincount(targets, minlength=classes) + 1
    logits = np.log(shares / shares.sum())
    vectors = keras.layers.Embedding(
        # The mean of vectors that all hold the logarithms of the shares is those logarithms.
        size,
        classes,
        embeddings_initializer=lambda shape, dtype=None: keras.ops.convert_to_tensor(np.tile(logits, (size, 1)), dtype),
        mask_zero=True,
    )
    model = keras.Sequential([vectors, keras.layers.GlobalAveragePooling1D()])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(learning_rate), loss)
    stop = keras.callbacks.EarlyStopping(patience=30, restore_best_weights=True)
    model.fit(ids, targets, batch_size=len(ids), epochs=steps, verbose=0, validation_split=0.1, callbacks=[stop])
    return model


def _padded(texts, min_count):
    """Returns the texts as integers `[texts, longest]`, 0 after their end and 1 for rare tokens, and how many."""
    counts = collections.Counter(word for text in texts for word in text)
    places = {word: k for k, word in enumerate((w for w, n in counts.items() if n >= min_count), 2)}
    ids = np.zeros((len(texts), max(1, *map(len, texts))), "int32")
    for row, text in zip(ids, texts, strict=True):
        # An empty text is one rare token, as a mean needs at least one.
        row[: max(1, len(text))] = [places.get(word, 1) for word in text] or [1]
    return ids, len(places) + 2


def _checked(texts_name, texts, labels_name, labels):
    """Returns texts as lists of tokens, and their labels as a list, or raises an error."""

    def is_sequence(value):
        return hasattr(value, "__len__") and not isinstance(value, (str, bytes))

    if not is_sequence(texts):
        raise TypeError(f"Argument `{texts_name}` must be a sequence of texts. Received: a {type(texts).__name__}")
    for text in texts:
        if not is_sequence(text):
            raise TypeError(
                f"Argument `{texts_name}` must hold texts as sequences of tokens, such as `text.split()`. Received: a "
                f"{type(text).__name__}, {text!r}"
            )
    if not is_sequence(labels) or np.ndim(labels) != 1:
        raise TypeError(f"Argument `{labels_name}` must be a sequence of labels. Received: a {type(labels).__name__}")
    if len(labels) != len(texts) or not len(texts):
        raise ValueError(
            f"Argument `{labels_name}` must hold a label for each text. Received: {len(labels)}, for {len(texts)} texts"
        )

    def as_list(values):
        # Numbers of NumPy are not the same keys as those of Python in every case.
        return values.tolist() if isinstance(values, np.ndarray) else list(values)

    return [as_list(text) for text in texts], as_list(labels)
