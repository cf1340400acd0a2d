"""`python -m keras_rnn_compare`, the same as `keras-rnn-compare`."""

import sys

from keras_rnn_compare.cli import NAME, main

if __name__ == "__main__":
    sys.argv[0] = NAME
    main()
