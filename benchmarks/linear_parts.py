"""What the adaptive linear memory owes to its policy, and what to its memory: each alone, both, and other pairs.

    KERAS_BACKEND=jax python -m benchmarks.linear_parts runs/linear_parts

Every model has about 5,500 weights (4,800 for S5), and learns as in `keras_rnn_compare.probe`, from sequences of 32
steps, for 3,000 updates at most. Each cell first tries three learning rates for 1,000 updates on each task, and one
more where the best of them lies at an edge. The folder keeps what is done: the same command goes on from there, to the
same numbers. It takes about an hour on one core.
"""

import argparse
import functools
import itertools
import json
import pathlib

import keras
import numpy as np

from benchmarks import rows
from keras_adaptive_rnn import LSTMCell, MinGRUCell
from keras_rnn_compare.models.candidates import resolve_candidates
from keras_rnn_compare.probing import tasks
from keras_rnn_compare.probing.learner import LONGER, Learner, shape_of
from keras_rnn_compare.seeds import fold_in

RESULTS = pathlib.Path(__file__).with_suffix(".json")
KEY = ("task", "cell")
LENGTH, UPDATES, SEARCH = 32, 3000, 1000
RATES, WIDER = (0.003, 0.01, 0.03), {0.003: 0.001, 0.03: 0.1}
# Steps of the longest sequences of a test, and their number.
LONGEST, TESTED = 128 * LENGTH, 64


@keras.saving.register_keras_serializable("benchmarks")
class SkipStackCell(keras.layers.Layer):
    """A memory that reads the inputs and the outputs of a policy."""

    def __init__(self, policy, memory, **kwargs):
        super().__init__(**kwargs)
        self.policy, self.memory = policy, memory
        self.state_size = [*memory.state_size, *policy.state_size]
        self.output_size = memory.output_size

    def build(self, input_shape):
        self.policy.build(input_shape)
        self.memory.build((*input_shape[:-1], input_shape[-1] + self.policy.output_size))
        super().build(input_shape)

    def call(self, inputs, states, training=False):
        count = len(self.memory.state_size)
        p, policy_states = self.policy(inputs, states[count:], training=training)
        read = keras.ops.concatenate([inputs, p], axis=-1)
        h, memory_states = self.memory(read, states[:count], training=training)
        return h, [*memory_states, *policy_states]

    def get_config(self):
        parts = {"policy": self.policy, "memory": self.memory}
        return {**super().get_config(), **{k: keras.saving.serialize_keras_object(part) for k, part in parts.items()}}


def quarter(units):
    return max(1, units // 4)


CELLS = {
    "lstm": "lstm",
    "min_gru": "min_gru",
    "min_gru_negative": lambda units: MinGRUCell(units, negative_eigenvalues=True),
    "stack": lambda units: [LSTMCell(quarter(units)), MinGRUCell(units)],
    "adaptive_linear": "adaptive_linear",
    "negative": lambda units: SkipStackCell(LSTMCell(quarter(units)), MinGRUCell(units, negative_eigenvalues=True)),
    "lstm_lstm": lambda units: SkipStackCell(LSTMCell(quarter(units)), LSTMCell(units)),
}
TITLES = {
    "lstm": "LSTM",
    "min_gru": "minGRU",
    "min_gru_negative": "minGRU, coefficients in [-1, 1]",
    "stack": "LSTM, then minGRU",
    "adaptive_linear": "AdaptiveLinear: LSTM and inputs, then minGRU",
    "negative": "the same, coefficients in [-1, 1]",
    "lstm_lstm": "LSTM and inputs, then LSTM",
}
PLACES, VALUES = 2, 4


def moving_places(rng, samples, length):
    """Two places, of which the first is written and read, while the values in them are swapped.

    The first two steps write to both. The state of an automaton, whether the swaps so far are odd, then decides where a
    value belongs. What counts are the answers other than the value that was written last. Chance is 1/4.
    """
    swap, write, read = 0, 1, 1 + VALUES
    held = rng.integers(VALUES, size=(samples, PLACES))
    last = held[:, -1].copy()
    tokens = np.full((samples, length), read)
    tokens[:, :PLACES] = write + held
    kinds = rng.choice(3, p=(0.4, 0.15, 0.45), size=(samples, length - PLACES))
    written = write + rng.integers(VALUES, size=kinds.shape)
    tokens[:, PLACES:] = np.select([kinds == 0, kinds == 1], [np.full_like(kinds, swap), written], read)
    targets, counted = np.zeros_like(tokens), np.zeros(tokens.shape, bool)
    for t in range(PLACES, length):
        now = tokens[:, t]
        held[now == swap] = held[now == swap][:, ::-1]
        writes = (now >= write) & (now < read)
        held[writes, 0] = last[writes] = now[writes] - write
        targets[:, t] = held[:, 0]
        counted[:, t] = (now == read) & (held[:, 0] != last)
    return tokens, np.where(counted, targets, 0), counted


TASKS = {
    "moving_places": tasks.Task("moving places", moving_places, 2 + VALUES, VALUES, 1 / VALUES),
    "s5": tasks.TASKS["s5"],
}
# With these units, all models of a task have the same weights to within 5 %.
UNITS = {
    "lstm": {"moving_places": 29, "s5": 26},
    "min_gru": {"moving_places": 142},
    "min_gru_negative": {"moving_places": 142},
    "stack": {"moving_places": 72, "s5": 67},
    "adaptive_linear": {"moving_places": 56, "s5": 51},
    "negative": {"moving_places": 56},
    "lstm_lstm": {"moving_places": 25, "s5": 23},
}
CANDIDATES = resolve_candidates(CELLS)


@functools.lru_cache(maxsize=2)
def learner_of(task, cell):
    learner = Learner(TASKS[task], CANDIDATES[cell], UNITS[cell][task], LENGTH, seed=0)
    learner.tests[LONGEST] = learner.last_steps(np.random.default_rng(fold_in(0, "test", LONGEST)), LONGEST, TESTED)
    return learner


class Trials:
    """The trials of all cells on all tasks, which a folder keeps."""

    def __init__(self, folder):
        self.folder = folder

    def trial(self, task, cell, rate, k, updates):
        path = self.folder / f"{task}-{cell}-{rate:g}-{k}-{updates}.json"
        if not path.exists():
            learner = learner_of(task, cell)
            found = learner.train(rate, fold_in(0, "trial", k), updates, lambda count: None)
            if updates == UPDATES:
                found["longest"] = learner.accuracy(LONGEST)
            path.with_suffix(".new").write_text(json.dumps(found))
            path.with_suffix(".new").replace(path)
        return json.loads(path.read_text())

    def rate(self, task, cell):
        """Returns the best rate, by one seed."""

        def rank(rate):
            found = self.trial(task, cell, rate, 0, SEARCH)
            return not found["solved"], found["updates"], -found["length"]

        best = min(RATES, key=rank)
        return min([best, WIDER.get(best, best)], key=rank)

    def row(self, task, cell, seeds):
        rate = self.rate(task, cell)
        found = [self.trial(task, cell, rate, k, UPDATES) for k in range(seeds)]
        figures = {
            each: [trial[each] for trial in found] for each in ("length", "longer", "longest", "solved", "updates")
        }
        units = UNITS[cell][task]
        size = shape_of(TASKS[task]).size(CANDIDATES[cell], units)
        return {"task": task, "cell": cell, "units": units, "weights": size, "rate": rate, **figures}


def tables(known):
    """Returns the table of rows by their keys: how many seeds solved a task, and the accuracies of each."""
    lines = [["task", "cell", "solved", *(f"{steps} steps" for steps in (LENGTH, LONGER * LENGTH, LONGEST))]]
    for row in known.values():
        accuracies = [", ".join(f"{value:.2f}" for value in row[name]) for name in ("length", "longer", "longest")]
        lines.append([TASKS[row["task"]].title, TITLES[row["cell"]], figure(row), *accuracies])
    return {"linear_parts": lines}


def figure(row):
    return f"{sum(row['solved'])} of {len(row['solved'])}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    trials = Trials(arguments.folder)
    for task, cell in itertools.product(TASKS, CELLS):
        if task in UNITS[cell]:
            row = trials.row(task, cell, arguments.seeds)
            rows.add(RESULTS, KEY, [row])
            print(f"{TITLES[cell]}, {TASKS[task].title}: {figure(row)}", flush=True)
    rows.write_tables(tables(rows.read(RESULTS, KEY)))


if __name__ == "__main__":
    main()
