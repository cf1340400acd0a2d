"""What papers say of how they trained their language models: the settings behind `--paper` of the two examples.

A recipe is its source and a dictionary, whose keys are the options of `word_language_model.py`. What a paper leaves
open is said beside the setting. "Their code" is the one that the authors have published.

Losses are means over tokens here. Melis et al. sum them over the T steps of a segment, so their clipping norms and
penalties are divided by T.
"""

from typing import NamedTuple


class Recipe(NamedTuple):
    source: str
    settings: dict


# A plain LSTM: what a recipe does not say is off.
PLAIN = {
    "tokens": "words",
    "words": None,
    "min_count": None,
    "cell": "lstm",
    "embedding": 400,
    "embedding_kind": "trained",
    "units": [400],
    "rounds": 5,
    "rank": None,
    "zigzag": True,
    "static_gates": False,
    "gate_activation": "sigmoid",
    "depth": 3,
    "policy": "recurrent",
    "policy_units": 100,
    "adaptation": "io",
    "tied": True,
    "weight_normalization": False,
    "experts": 1,
    "tie_weights": True,
    "sum_layers": False,
    "cap_input_gate": False,
    "lsuv": False,
    "word_dropout": 0.0,
    "input_dropout": 0.0,
    "hidden_dropout": 0.0,
    "state_dropout": 0.0,
    "policy_dropout": 0.0,
    "update_dropout": 0.0,
    "block_dropout": 0.0,
    "output_dropout": 0.0,
    "expert_dropout": 0.0,
    "weight_drop": 0.0,
    "activation_regularization": 0.0,
    "temporal_regularization": 0.0,
    "epochs": 100,
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "beta_1": 0.0,
    "clip": 0.0,
    "weight_decay": 0.0,
    "anneal": False,
    "cut_at": [],
    "plateau": 0,
    "look_every": 1,
    "cut": 10.0,
    "batch": 64,
    "steps": 70,
    "spread": 0.0,
    "half": 0.0,
    "drop_state": 0.0,
    "rule": "none",
    "patience": 5,
    "latest": None,
}

AWD_LSTM = {
    **PLAIN,
    "embedding": 400,
    "units": [1150, 1150, 400],
    "word_dropout": 0.1,
    "input_dropout": 0.4,
    "hidden_dropout": 0.25,
    "output_dropout": 0.4,
    "weight_drop": 0.5,
    "activation_regularization": 2.0,
    "temporal_regularization": 1.0,
    # The paper trains for 750 epochs; in their code, 500 suffice before finetuning.
    "epochs": 500,
    "optimizer": "sgd",
    "learning_rate": 30.0,
    "clip": 0.25,
    "weight_decay": 1.2e-6,
    "batch": 20,
    "steps": 70,
    "spread": 5.0,
    "half": 0.05,
    # As in their code: the paper's formula, which is `last`, looks at the last five epochs.
    "rule": "all_but_last",
    "patience": 5,
}

ADAPTIVE_LSTM = {
    **PLAIN,
    "cell": "adaptive-lstm",
    # The paper has two layers and 17 million weights, without the sizes; they are in their code.
    "embedding": 400,
    "units": [1150, 400],
    "policy": "recurrent",
    "policy_units": 100,
    "adaptation": "io",
    # Open, but for the number of weights: 17.2 million are tied, and 18.1 million are not.
    "tied": True,
    "word_dropout": 0.16,
    "input_dropout": 0.6,
    "policy_dropout": 0.1,
    # Also drops what the second layer reads from the first one.
    "state_dropout": 0.25,
    "output_dropout": 0.6,
    # Open: the best epoch is the 144th. Their code trains for 190.
    "epochs": 190,
    "optimizer": "adam",
    "learning_rate": 3e-3,
    "beta_1": 0.0,
    # Only their LSTM needs clipping.
    "clip": 0.0,
    "weight_decay": 1e-6,
    "cut_at": [100, 160],
    "cut": 10.0,
    "batch": 20,
    "steps": 70,
    "spread": 5.0,
    "half": 0.05,
}

MELIS_2018 = {
    **PLAIN,
    # The best of their search, which the paper does not list: from their code.
    "embedding": 723,
    "units": [723] * 4,
    "input_dropout": 0.634,
    "hidden_dropout": 0.309,
    "state_dropout": 0.643,
    "output_dropout": 0.701,
    "learning_rate": 3.96e-3,
    "weight_decay": 7.45e-5 / 35,
    "sum_layers": True,
    "cap_input_gate": True,
    "optimizer": "adam",
    "beta_1": 0.0,
    "clip": 10 / 35,
    "batch": 64,
    "steps": 35,
    "drop_state": 0.01,
    # 100,000 updates. The rate is cut after 2,600 without a better validation: six epochs.
    "epochs": 241,
    "plateau": 6,
    "cut": 10.0,
}

MOGRIFIER_LSTM = {
    **PLAIN,
    # 24 million weights; the best of their search is in their code.
    "embedding": 951,
    "units": [951, 951],
    "input_dropout": 0.628,
    "hidden_dropout": 0.307,
    "state_dropout": 0.369,
    "output_dropout": 0.690,
    "learning_rate": 3.037e-3,
    "weight_decay": 2.49e-4 / 70,
    "sum_layers": True,
    "cap_input_gate": True,
    "optimizer": "adam",
    "beta_1": 0.0,
    "clip": 10 / 70,
    "batch": 64,
    "steps": 70,
    "drop_state": 0.01,
    # Section 4.1.
    "epochs": 964,
    # Open, "a certain number of checkpoints"; 50 in their code, where a checkpoint is about an epoch.
    "rule": "since_best",
    "patience": 50,
    "latest": 0.8,
}

MOGRIFIER = {
    **MOGRIFIER_LSTM,
    "cell": "mogrifier",
    "embedding": 912,
    "units": [912, 912],
    "rounds": 5,
    "rank": 84,
    "input_dropout": 0.729,
    "hidden_dropout": 0.291,
    "state_dropout": 0.387,
    "output_dropout": 0.716,
    "learning_rate": 2.3e-3,
    "weight_decay": 2.52e-4 / 70,
}

MOGRIFIER_CHARACTERS = {
    **MOGRIFIER,
    "tokens": "characters",
    # 24 million weights with the text's 50 characters; what the search has found is in their code.
    "embedding": 1209,
    "units": [1209, 1209],
    "rounds": 4,
    "rank": 24,
    "tie_weights": False,
    "input_dropout": 0.279,
    "hidden_dropout": 0.0738,
    "state_dropout": 0.171,
    "output_dropout": 0.235,
    "learning_rate": 3.74e-3,
    "weight_decay": 2.56e-4 / 150,
    "clip": 10 / 150,
    # 64 in their code.
    "batch": 128,
    "steps": 150,
    # Open; 100,000 updates in their code, and averages after 5,000 without a better validation.
    "epochs": 380,
    "patience": 19,
}

LOW_RANK_GRU = {
    **PLAIN,
    "tokens": "characters",
    "cell": "low-rank-gru",
    # "We use no character embeddings".
    "embedding_kind": "one-hot",
    "tie_weights": False,
    # The best row. The table has 2.54 million weights where we have 3.3: it counts the input matrix of the three gates
    # once.
    "units": [6985],
    "rank": 64,
    "tied": True,
    # The remedy of appendix A.2 is for the memory task; with our words, training diverged without it.
    "weight_normalization": False,
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "beta_1": 0.9,
    # "Bayesian recurrent dropout", whose rates are open, as are the batch, the steps and the epochs. Each sentence
    # starts from an initial state that is trained; here, states are carried on.
    "input_dropout": 0.2,
    "state_dropout": 0.2,
    "output_dropout": 0.2,
    "batch": 32,
    "steps": 100,
    "epochs": 50,
}

LOW_RANK_LSTM = {
    **LOW_RANK_GRU,
    "cell": "low-rank-lstm",
    "units": [1740],
    "rank": 300,
    "tied": False,
    "learning_rate": 2e-4,
}

BIPOLAR = {
    **PLAIN,
    "tokens": "characters",
    "cell": "deep-rnn",
    # As wide as a layer, so that the lowest block has a skip connection.
    "embedding": 256,
    "embedding_kind": "normal",
    "tie_weights": False,
    "units": [256],
    "depth": 36,
    "lsuv": True,
    "hidden_dropout": 0.05,
    "state_dropout": 0.025,
    "block_dropout": 0.025,
    "optimizer": "adam",
    "learning_rate": 2e-4,
    "beta_1": 0.9,
    # The rate is halved where the validation of every fourth epoch is not better.
    "plateau": 1,
    "look_every": 4,
    "cut": 2.0,
    # What is left of the text is read in a shorter first segment, where the paper leaves it out.
    "batch": 128,
    "steps": 50,
    # Open.
    "epochs": 200,
}

FLENNERHAG = "Flennerhag et al., Breaking the Activation Function Bottleneck through Adaptive Parameterization (2018)"
MELIS = "Melis, Kočiský and Blunsom, Mogrifier LSTM (2020)"
MICELI_BARONE = "Miceli Barone, Low-Rank Passthrough Neural Networks (2016)"
EIDNES = "Eidnes and Nøkland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018)"
PAPERS = {
    "awd-lstm": Recipe(
        "Merity, Keskar and Socher, Regularizing and Optimizing LSTM Language Models (2018), section 5 and table 1",
        AWD_LSTM,
    ),
    "adaptive-lstm": Recipe(f"{FLENNERHAG}, section 5.3 and table 2", ADAPTIVE_LSTM),
    "adaptive-lstm-wikitext-2": Recipe(
        f"{FLENNERHAG}, section 5.4 and table 3",
        # 32 million weights in the paper, whose sizes are in their code, which also cuts the rate at epoch 180.
        {**ADAPTIVE_LSTM, "units": [1500, 400], "state_dropout": 0.3},
    ),
    "melis-2018": Recipe(
        "Melis, Dyer and Blunsom, On the State of the Art of Evaluation in Neural Language Models (2018), the LSTM of "
        "depth 4 and 24 million weights",
        MELIS_2018,
    ),
    "mogrifier": Recipe(f"{MELIS}, section 3.3 and table 1", MOGRIFIER),
    "mogrifier-lstm": Recipe(f"{MELIS}, section 3.3 and table 1, the LSTM", MOGRIFIER_LSTM),
    "mogrifier-characters": Recipe(f"{MELIS}, section 3.3 and table 2", MOGRIFIER_CHARACTERS),
    "lowrank-gru": Recipe(f"{MICELI_BARONE}, table 2 and appendix A.2", LOW_RANK_GRU),
    "lowrank-lstm": Recipe(f"{MICELI_BARONE}, table 2 and appendix A.3", LOW_RANK_LSTM),
    "bipolar": Recipe(f"{EIDNES}, section 4.1 and table 1, 36 layers", BIPOLAR),
    "bipolar-text8": Recipe(
        f"{EIDNES}, section 4.2 and table 3",
        {
            **BIPOLAR,
            "embedding": 474,
            "units": [474],
            "hidden_dropout": 0.01,
            "state_dropout": 0.01,
            "block_dropout": 0.01,
            "learning_rate": 5e-5,
            "look_every": 1,
            # Open.
            "epochs": 20,
        },
    ),
}


def option(name: str, value) -> str:
    """Returns a setting as an option of the command."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return f"--{flag} {'full' if name == 'rank' and value is None else value}"


def described(settings: dict, base: dict = PLAIN) -> str:
    """Returns the settings that differ from others, as options of the command, with four digits."""
    changed = {name: settings[name] for name in base if settings[name] != base[name]}
    return " ".join(option(name, f"{v:.4g}" if isinstance(v, float) else v) for name, v in changed.items())
