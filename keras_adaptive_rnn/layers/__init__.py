"""Layers and cells, as in `keras.layers`."""

from keras_adaptive_rnn._export import directory, exported
from keras_adaptive_rnn.cells import *
from keras_adaptive_rnn.layers.activation_regularization import ActivationRegularization
from keras_adaptive_rnn.layers.adaptive_dense import AdaptiveDense
from keras_adaptive_rnn.layers.bidirectional import Bidirectional
from keras_adaptive_rnn.layers.bipolar import OPLU, Bipolar, CReLU
from keras_adaptive_rnn.layers.embedding import FixedEmbedding
from keras_adaptive_rnn.layers.highway import Highway
from keras_adaptive_rnn.layers.maxout import Maxout
from keras_adaptive_rnn.layers.mixture_of_softmaxes import MixtureOfSoftmaxes
from keras_adaptive_rnn.layers.multidimensional_grid_lstm import MultidimensionalGridLSTM
from keras_adaptive_rnn.layers.pointer_generator import PointerGenerator
from keras_adaptive_rnn.layers.recurrent import *
from keras_adaptive_rnn.layers.sequence_auxiliary import SequenceAuxiliary
from keras_adaptive_rnn.layers.tied_embedding import TiedEmbedding
from keras_adaptive_rnn.loop.rnn import RNN

__all__ = exported(globals())
__dir__ = directory(__all__)
