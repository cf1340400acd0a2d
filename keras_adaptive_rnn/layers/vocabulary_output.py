"""The base of output layers over a vocabulary."""

import keras

from keras_adaptive_rnn import _arguments, initializers
from keras_adaptive_rnn.layers.feed_forward import FeedForward
from keras_adaptive_rnn.layers.tied_embedding import TiedEmbedding


class VocabularyOutput(FeedForward):
    """An output layer with the argument `embedding`, whose rows are those of the words that it predicts.

    A subclass declares `embedding` and `kernel_initializer`, and calls `set_embedding` and `build_embedding`.
    """

    def set_embedding(self, embedding):
        """Takes a `TiedEmbedding`, its config, or the size of a vocabulary."""
        if isinstance(embedding, dict):  # From a config.
            embedding = keras.saving.deserialize_keras_object(embedding)
        if not isinstance(embedding, TiedEmbedding) and (isinstance(embedding, bool) or not isinstance(embedding, int)):
            raise TypeError(
                "Argument `embedding` must be a `keras_adaptive_rnn.layers.TiedEmbedding`, or an integer, the size of "
                f"the vocabulary. Received: embedding={embedding!r}"
            )
        self._is_tied = isinstance(embedding, TiedEmbedding)
        self._vocabulary = None if self._is_tied else _arguments.integer("embedding", embedding)
        self.embedding = embedding if self._is_tied else None

    @property
    def vocabulary_size(self):
        return self._vocabulary or self.embedding.vocabulary_size

    def config_value(self, name):
        return self._vocabulary if name == "embedding" and not self._is_tied else super().config_value(name)

    def build_embedding(self, units):
        """Makes an embedding with vectors of size `units` if none was given."""
        if not self._is_tied:
            self.embedding = TiedEmbedding(self._vocabulary, units, dtype=self.dtype_policy)
        if not self.embedding.built:
            self.embedding.build()

    def dense(self, name, units, **arguments):
        """Returns a `Dense` layer whose kernel has random numbers of its own."""
        initializer = initializers.reseeded(self.kernel_initializer, name)
        return keras.layers.Dense(
            units, kernel_initializer=initializer, name=name, dtype=self.dtype_policy, **arguments
        )
