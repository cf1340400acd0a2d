"""What can be run from the command line: `python -m keras_adaptive_rnn`."""

TEXT = """\
usage: python -m keras_adaptive_rnn.hub COMMAND ...

Language models, from a text file to a preset of KerasHub (needs `pip install "keras_adaptive_rnn[hub]"`):

  train TEXT    train a model on a text for some minutes, and save it as a preset
  write PRESET  let it write
  score PRESET  judge it by another text
  tokens TEXT   tokenize a large text once, into a file that training reads from the disk

`python -m keras_adaptive_rnn.hub COMMAND --help` lists the options. The variable KERAS_BACKEND chooses jax, tensorflow
or torch.
"""

if __name__ == "__main__":
    print(TEXT, end="")
