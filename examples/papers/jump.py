"""Number prediction: an LSTM-Jump reads two tokens of twenty, and an LSTM all of them.

    python -m examples.papers.jump

Reference: Yu, Lee and Le, Learning to Skim Text (2017), section 3.1.
"""

import keras

from examples import jump_and_skim
from examples.papers import _study


def train(name, seed, settings, data):
    argv = [f"--{option}={settings[option]}" for option in ("samples", "length", "epochs")]
    keras.utils.set_random_seed(seed)
    arguments = jump_and_skim.parse(["jump", *argv, f"--seed={seed}", "--verbose=0"])
    model, *_, found = jump_and_skim.train_jumper(name, arguments)
    points = [{"epoch": k, "accuracy": value} for k, value in enumerate(found["accuracies"], 1)]
    return model.count_params(), {"accuracy": found["accuracy"], "tokens read": found["tokens_read"]}, points


STUDY = _study.Study(
    name="jump",
    title="Number prediction: reading two tokens of twenty",
    claim="A model that jumps over tokens is as accurate as an LSTM that reads all of them, and faster.",
    protocol="The first token is the position of the answer. An LSTM-Jump of 64 units reads it, jumps once, by up to "
    "20 tokens, and reads one more. The LSTM has 64 units, too. Adam at 0.005, batches of 100, 20,000 sequences. "
    "Curves and figures are on 2,000 sequences that were not trained on, and nothing was chosen on them. The paper has "
    "sequences of up to 100 numbers.",
    models=jump_and_skim.JUMPERS,
    pairs=(("LSTM-Jump", "LSTM"),),
    budgets={
        "test": {"samples": 40, "length": 5, "epochs": 1, "rounds": 1},
        "small": {"samples": 20_000, "length": 20, "epochs": 10, "rounds": 1},
        "paper": {"samples": 1_000_000, "length": 100, "epochs": 10, "rounds": 1},
    },
    train=train,
    metric="accuracy",
    axis="epoch",
    prior={"chance": 1 / 19},
    outcome="holds for accuracy, on sequences of 20, with a tenth of the tokens read; speed was not measured",
    found="Both models end at 100 %. The LSTM-Jump reads two tokens of each sequence, and reaches it in three epochs, "
    "the LSTM in seven.",
)

if __name__ == "__main__":
    _study.main(STUDY)
