"""A recurrent classifier of texts."""

from typing import Any

import keras_hub

from keras_adaptive_rnn.hub.presets import HeadInPreset

POOLINGS: Any

class RecurrentTextClassifier(HeadInPreset, keras_hub.models.TextClassifier):
    """Reads a text with a recurrent backbone, and classifies it.

    The hidden states $h_t$ of the tokens are pooled into $v$, without padding, and the logits are $W v + b$:

    - `"mean"`: $v$ is the mean of all $h_t$;
    - `"last"`: $v$ is $h_t$ after the whole text; of a bidirectional backbone, what each direction has read in the end;
    - `"attention"`: $v = \\sum_t a_t h_t$ with $a = \\mathrm{softmax}_t(u^\\top \\tanh(U h_t + c))$.

    Cells that decide how much to compute, such as `keras_adaptive_rnn.SkipCell`, add the cost of what they compute to
    the loss. A language model's preset loads as a classifier, `from_preset(folder, num_classes=2)`: its backbone has
    learnt to read.

    Args:
        backbone: A `keras_adaptive_rnn.hub.RecurrentBackbone`.
        num_classes: Integer of at least 2, number of classes.
        preprocessor: A `keras_adaptive_rnn.hub.RecurrentTextClassifierPreprocessor`, or `None` (default): the model
            then takes token ids.
        pooling: `"mean"` (default), `"last"` or `"attention"`.
        dropout: Number in [0, 1), the rate at which units of $v$ are dropped. Defaults to `0.0`.
        activation: Activation of the logits. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Dict of `"token_ids"` and `"padding_mask"`, as in `keras_adaptive_rnn.hub.RecurrentBackbone`.

    Returns: Logits `[batch, num_classes]`.

    Raises:
        ValueError: An argument is out of range.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> texts, labels = ["good good", "so bad", "bad", "good"] * 4, [1, 0, 0, 1] * 4
    >>> tokenizer = hub.VocabularyTokenizer.from_text(texts, split="word")
    >>> cells = [keras_adaptive_rnn.SkipCell(keras_adaptive_rnn.GRUCell(8), cost_weight=1e-4)]
    >>> backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 8, cells)
    >>> preprocessor = hub.RecurrentTextClassifierPreprocessor(tokenizer, sequence_length=4)
    >>> classifier = hub.RecurrentTextClassifier(backbone, 2, preprocessor, pooling="attention")
    >>> classifier.compile(keras.optimizers.Adam(0.05), metrics=["accuracy"])
    >>> run = classifier.fit(texts, labels, epochs=2, verbose=0)
    >>> tuple(classifier.predict(["good"], verbose=0).shape)
    (1, 2)

    Reference: Yang et al., Hierarchical Attention Networks for Document Classification (2016), section 2.2, for the
        attention.
    """

    backbone_cls: Any
    preprocessor_cls: Any
    num_classes: int
    pooling: str
    dropout: float
    activation: Any
    compile: Any

    def __init__(
        self,
        backbone: Any,
        num_classes: int,
        preprocessor: Any = None,
        pooling: str = "mean",
        dropout: float = 0.0,
        activation: Any = None,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        compile: Any = True,
    ) -> None: ...
    @property
    def trainable_variables(self) -> Any: ...
    @property
    def trainable_weights(self) -> Any: ...
    def get_config(self) -> dict[str, Any]: ...
