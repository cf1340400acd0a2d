"""What must hold for every configuration of `configurations.py`, checked for one of them."""

import contextlib
import dataclasses
import itertools
import json
import pathlib
import re
import tempfile
import zlib

import keras
import numpy as np
from keras import ops, tree

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.any_cell import memory_states
from tests.outside.configurations import IMPORTS, NAMESPACE, Drawn

KERAS_OPTIONS = ("return_sequences", "return_state", "go_backwards", "zero_output_for_mask")
# What draws random numbers in training: two runs differ by them alone.
NOISY = re.compile(r"dropout=|WeightDrop|Zoneout|Skim|DropConnect")
# Decisions are rounded: in 16 bits, two ways to compute one differ by a whole decision.
DECIDING = re.compile(r"Skip|Skim|VariableComputation")
# Errors that are meant: what they forbid has no meaning. They must come before anything is computed.
REFUSALS = re.compile(
    "|".join(
        (
            "must be a cell that reads its output in the next step",
            "must be a cell whose first state is its output",
            "must be at most the size",
            "must be None if the cells have different output sizes",
            "must be None unless `units` is a list",
            "must return its output as its first state",
            "must be False, as the map is not square",
            "must not have a state larger than",
            "`schedule` must be one of",
        )
    )
)


@dataclasses.dataclass(frozen=True)
class Configuration(Drawn):
    __doc__ = Drawn.__doc__

    def __str__(self):
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if field.default is dataclasses.MISSING or getattr(self, field.name) != field.default
        ]
        changed[0] = f'"{self.layer}"' if '"' not in self.layer else repr(self.layer)
        return f"Configuration({', '.join(changed)})"

    def script(self, check):
        """Returns lines of Python that repeat a check."""
        return f"{IMPORTS}\n{self}.check({check!r})"

    # What is checked.

    @property
    def is_noisy(self):
        return bool(NOISY.search(self.layer))

    @property
    def in_training(self):
        return self.training and not self.is_noisy

    @property
    def is_serializable(self):
        return "PlainCell" not in self.layer

    @property
    def dtype_policy(self):
        return "float32" if DECIDING.search(self.layer) else self.policy

    @property
    def is_bidirectional(self):
        return self.bidirectional and self.is_serializable and "go_backwards" not in self.layer

    def make(self):
        """Returns a new layer, before anything is built."""
        layer = eval(self.layer, dict(NAMESPACE))
        return kar.Bidirectional(layer) if self.is_bidirectional else layer

    def make_reference(self):
        """Returns `keras.layers.RNN` around the same cell."""
        layer = eval(self.layer, dict(NAMESPACE))
        cell = layer.cell
        # Keras's loop takes the states of a stack of one cell for those of the cell, on JAX and with a mask.
        while isinstance(cell, keras.layers.StackedRNNCells) and len(cell.cells) == 1:
            (cell,) = cell.cells
        # Stateful or not: the first call starts from the same states.
        reference = keras.layers.RNN(cell, **{name: getattr(layer, name) for name in KERAS_OPTIONS})
        return keras.layers.Bidirectional(reference) if self.is_bidirectional else reference

    def build(self, layer):
        """Builds a layer, and gives it weights that are the same for every layer with the same cell."""
        layer.build((self.batch, self.time, self.features))
        rng = np.random.default_rng(1)
        for weight in layer.trainable_weights:
            weight.assign(0.5 * rng.normal(size=weight.shape))
        self.reset(layer)
        return layer

    def reset(self, layer):
        """Starts the carried states of a stateful layer over, from what the weights are now."""
        for each in [layer.forward_layer, layer.backward_layer] if self.is_bidirectional else [layer]:
            if each.stateful:
                each.reset_state()

    @property
    def inputs(self):
        return np.random.default_rng(2).normal(size=(self.batch, self.time, self.features)).astype("float32")

    def mask_of(self, layer):
        """Returns a mask that spares the first step in order of processing, where Keras's backends disagree."""
        if self.mask is None:
            return None
        rng = np.random.default_rng(3)
        if self.mask == "tail" and not (self.is_bidirectional or layer.go_backwards):
            return np.arange(self.time) < rng.integers(1, self.time + 1, size=(self.batch, 1))
        mask = rng.random((self.batch, self.time)) < 0.5
        mask[:, [0, -1]] = True
        return mask

    def states_of(self, layer):
        """Returns flat initial states for a built layer, or `None`."""
        if not self.initial_state:
            return None
        rng, states = np.random.default_rng(4), []
        for each in [layer.forward_layer, layer.backward_layer] if self.is_bidirectional else [layer]:
            cell = each.cell
            cells = cell.cells if isinstance(cell, keras.layers.StackedRNNCells) else [cell]
            is_memory = [memory for part in cells for memory in memory_states(part)]
            for state, memory in zip(tree.flatten(each.get_initial_state(self.batch)), is_memory, strict=True):
                drawn = 0.5 * rng.normal(size=tuple(state.shape))
                states.append(drawn.astype("float32") if memory else ops.convert_to_numpy(ops.cast(state, "float32")))
        return states

    def run(self, layer, inputs, states, mask=None, training=False, **resets):
        """Returns the flat results of a layer, in float32."""
        if states is not None and not self.is_bidirectional:
            states = nested(layer, states)
        results = layer(inputs, initial_state=states, mask=mask, training=training, **resets)
        return [ops.cast(each, "float32") for each in tree.flatten(results)]

    def close(self, ours, theirs, what):
        tolerance = 2e-4 if self.dtype_policy == "float32" else 0.1
        ours, theirs = tree.flatten(ours), tree.flatten(theirs)
        if len(ours) != len(theirs):
            raise AssertionError(f"{what}: {len(ours)} arrays and {len(theirs)}")
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            a, b = (np.asarray(0.0 if t is None else ops.convert_to_numpy(t), "float32") for t in (a, b))
            scale = 1 + max(np.abs(a).max(initial=0), np.abs(b).max(initial=0))
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=f"{what}: array {k}")

    def value_and_gradients(self, layer, compiled=True, run=None):
        """Returns a sum of all results, each with a weight of its own, and its gradients."""
        mask, states, run = self.mask_of_built(layer), self.states_of(layer), run or self.run

        def total(inputs, *states):
            results = run(layer, inputs, list(states) or None, mask, self.in_training)
            rng = np.random.default_rng(5)
            weights = [rng.normal(size=tuple(each.shape)).astype("float32") for each in results]
            return sum(ops.sum(a * ops.convert_to_tensor(b)) for a, b in zip(results, weights, strict=True))

        return engine.gradients(total, layer.trainable_variables, [self.inputs, *(states or [])], compiled)

    def mask_of_built(self, layer):
        return self.mask_of(layer.forward_layer if self.is_bidirectional else layer)

    # The checks.

    def check(self, *names):
        """Runs checks by name, all by default. Returns the names of those that apply."""
        with self.policy_in_force():
            try:
                self.build(self.make())
            except (ValueError, TypeError) as error:
                if REFUSALS.search(str(error)):
                    return []
                raise
            return [name for name in names or CHECKS if CHECKS[name](self) is not False]

    def turn(self):
        """Returns the checks that are this configuration's turn, where there is no time for all."""
        others = [name for name in CHECKS if name != "beside Keras"]
        return ["beside Keras", others[zlib.crc32(str(self).encode()) % len(others)]]

    @contextlib.contextmanager
    def policy_in_force(self):
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy(self.dtype_policy)
        try:
            yield
        finally:
            keras.config.set_dtype_policy(before)

    def beside_keras(self):
        """`keras.layers.RNN` returns the same, with the same gradients."""
        if "cost_weight" in self.layer or "skim_loss" in self.layer:
            return False  # It has no place for a loss.
        if "ScoringCell" in self.layer and self.mask and keras.backend.backend() == "jax":
            return False  # There, a masked step outputs the first state, which is not the output.
        ours = self.value_and_gradients(self.build(self.make()))
        if self.is_bidirectional and self.initial_state and ("cell=[" in self.layer or "StackedRNN" in self.layer):
            return False  # Keras's wrapper hands its loop the states of a stack as a flat list, which only ours nests.
        theirs = self.value_and_gradients(self.build(self.make_reference()))
        what = "our loop and Keras's: the value and its gradients"
        try:
            self.close(ours, theirs, what)
        except AssertionError:
            if self.dtype_policy == "float32":
                raise
            # In half precision, either loop may be the one whose errors add up.
            exact = dataclasses.replace(self, policy="float32")
            with exact.policy_in_force():
                theirs = exact.value_and_gradients(exact.build(exact.make_reference()))
            self.close(ours, theirs, f"in float32, {what}")
        return True

    def eager(self):
        """A compiled call returns what an eager one does, and so does `predict`."""
        layer = self.build(self.make())
        mask, states = self.mask_of_built(layer), self.states_of(layer)
        arrays = {"inputs": self.inputs}
        arrays |= {} if mask is None else {"mask": mask}
        arrays |= {f"state_{k}": state for k, state in enumerate(states or [])}
        model = self.model(layer, states)
        expected = self.run(layer, self.inputs, states, mask)
        self.reset(layer)
        self.close(model.predict(arrays, batch_size=self.batch, verbose=0), expected, "predict and an eager call")
        return True

    def padding(self):
        """Masked steps at the end change nothing."""
        layer = self.build(self.make())
        inner = layer.forward_layer if self.is_bidirectional else layer
        if inner.stateful or (inner.zero_output_for_mask and not inner.return_sequences):
            return False
        mask, states = self.mask_of_built(layer), self.states_of(layer)
        mask = np.ones((self.batch, self.time), bool) if mask is None else mask
        plain = self.run(layer, self.inputs, states, mask, self.in_training)
        again = self.build(self.make()) if inner.unroll else layer
        longer = np.concatenate([self.inputs, np.full((self.batch, 2, self.features), 9, "float32")], axis=1)
        longer_mask = np.concatenate([mask, np.zeros((self.batch, 2), bool)], axis=1)
        padded = self.run(again, longer, states, longer_mask, self.in_training)
        if inner.return_sequences:
            padded[0] = padded[0][:, 2:] if layer is inner and inner.go_backwards else padded[0][:, : self.time]
        self.close(padded, plain, "padded and plain sequences")
        return True

    def pieces(self):
        """Resets give the results, and the gradients, of the pieces of a sequence apart."""
        layer = self.build(self.make())
        inner = layer.forward_layer if self.is_bidirectional else layer
        # In two directions, the last piece of one is the first of the other.
        if inner.stateful or (self.is_bidirectional and (self.initial_state or layer.return_state)):
            return False
        if self.is_bidirectional and not layer.return_sequences:
            return False
        resets = np.random.default_rng(6).random((self.batch, self.time)) < 0.4

        def whole(*given):
            return self.run(*given, resets=resets)

        def apart(layer, inputs, states, mask, training):
            rows = [self.row_apart(layer, row, resets, inputs, states, mask, training) for row in range(self.batch)]
            return [ops.concatenate(parts) for parts in zip(*rows, strict=True)]

        self.close(*(self.value_and_gradients(layer, run=run) for run in (whole, apart)), "resets and pieces apart")
        return True

    def row_apart(self, layer, row, resets, inputs, states, mask, training):
        """Returns the results of a row whose pieces are read one by one."""
        bounds = sorted({0, *np.flatnonzero(resets[row]), self.time})
        pieces, one, done = [slice(*pair) for pair in itertools.pairwise(bounds)], slice(row, row + 1), []
        backwards = getattr(layer, "go_backwards", False)
        # A first step that is reset does not read the given states.
        is_lost = states is None or (resets[row, 0] and not backwards)
        states = None if is_lost else [state[one] for state in states]
        for piece in pieces[::-1] if backwards else pieces:
            masked = None if mask is None else mask[one, piece]
            done.append(self.run(layer, inputs[one, piece], states, masked, training))
            states = None
        outputs = [outputs for outputs, *_ in done]
        return [ops.concatenate(outputs, axis=1) if layer.return_sequences else outputs[-1], *done[-1][1:]]

    def steps(self):
        """`RNN.step`, one step at a time, computes what the whole pass does."""
        layer = self.build(self.make())
        if self.is_bidirectional or layer.go_backwards:
            return False
        states, outputs = self.states_of(layer), []
        whole = self.run(layer, self.inputs, states)
        states = None if states is None else nested(layer, states)
        for t in range(self.time):
            output, states = layer.step(self.inputs[:, t], states)
            outputs.append(ops.cast(output, "float32"))
        stepped = ops.stack(outputs, axis=1) if layer.return_sequences else outputs[-1]
        stepped = [stepped, *(tree.flatten(states) if layer.return_state else [])]
        self.close([ops.cast(each, "float32") for each in stepped], whole, "steps and the whole pass")
        return True

    def config(self):
        """The config survives JSON, and makes a layer that starts from the same values if all of them are seeded."""
        if not self.is_serializable:
            return False
        layer = self.make()
        repr(layer)
        config = json.dumps(keras.saving.serialize_keras_object(layer))
        copy = keras.saving.deserialize_keras_object(json.loads(config))
        again = json.dumps(keras.saving.serialize_keras_object(copy))
        assert json.loads(again) == json.loads(config), f"config {config} became {again}"
        made = [layer, self.make(), copy]
        for each in made:
            each.build((self.batch, self.time, self.features))
        first, second, copied = ([ops.convert_to_numpy(w) for w in each.weights] for each in made)
        assert [w.shape for w in copied] == [w.shape for w in first], "a copy has weights in another order"
        if all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)):
            for a, b, weight in zip(first, copied, layer.weights, strict=True):
                np.testing.assert_array_equal(b, a, err_msg=f"a copy starts elsewhere: {weight.path}")
        return True

    def model(self, layer, states=None):
        """Returns a functional model around a built layer, whose inputs have the names of what is fed."""
        batch = self.batch if layer.stateful else None
        inputs = {"inputs": keras.Input((self.time, self.features), batch, name="inputs")}
        if self.mask is not None:
            inputs["mask"] = keras.Input((self.time,), batch, dtype="bool", name="mask")
        for k, state in enumerate(states or []):
            inputs[f"state_{k}"] = keras.Input(state.shape[1:], batch, name=f"state_{k}")
        given = [inputs[f"state_{k}"] for k in range(len(states or []))] or None
        return keras.Model(inputs, self.run(layer, inputs["inputs"], given, inputs.get("mask")))

    def training_and_files(self):
        """It trains, predicts and trains on; a file of it computes and trains on the same."""
        if not self.is_serializable:
            return False
        keras.utils.set_random_seed(0)
        layer = self.build(self.make())
        model = self.model(layer)
        x = {"inputs": self.inputs}
        if self.mask is not None:
            x["mask"] = self.mask_of_built(layer)
        y = [np.zeros((self.batch, *output.shape[1:]), "float32") for output in model.outputs]
        # Compiling with XLA takes TensorFlow many times as long as to run without.
        jit_compile = False if keras.backend.backend() == "tensorflow" else "auto"
        model.compile(keras.optimizers.Adam(0.01), "mse", jit_compile=jit_compile)
        self.fit(model, x, y)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.keras"
            model.save(path)
            loaded = keras.saving.load_model(path)
        for what in ("trainable_weights", "non_trainable_weights"):
            saved, restored = getattr(model, what), getattr(loaded, what)
            before, after = ([names_in(w.path) for w in weights] for weights in (saved, restored))
            assert before == after, f"order of {what}: {before} became {after}"
            self.exact(restored, saved, f"{what} of a loaded model")
        self.exact(loaded.optimizer.variables, model.optimizer.variables, "the state of the optimizer")
        predicted = [m.predict(x, batch_size=self.batch, verbose=0) for m in (model, loaded)]
        self.close(*predicted, "predict of a saved and a loaded model")
        losses = [self.fit(m, x, y) for m in (model, loaded)]
        assert np.isfinite(losses).all(), f"losses {losses}"
        # A file holds no state of random numbers, as in Keras.
        if not self.is_noisy:
            self.close(*losses, "the loss of a saved and a loaded model, trained on")
            self.close(model.get_weights(), loaded.get_weights(), "weights of a saved and a loaded model, trained on")
        return True

    def fit(self, model, x, y):
        # A stateful layer carries the state of each row.
        return model.fit(x, y, batch_size=self.batch, shuffle=False, verbose=0).history["loss"]

    def exact(self, ours, theirs, what):
        assert len(ours) == len(theirs), f"{what}: {len(ours)} and {len(theirs)}"
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b), err_msg=f"{what}: {b.path}")


def names_in(path):
    """Returns the last names in the path of a variable; those of layers depend on how many there are in the process."""
    return [re.sub(r"_\d+$", "", name) for name in path.split("/")[-2:]]


def nested(layer, states):
    """Returns flat states, nested like those of a layer."""
    return tree.pack_sequence_as(layer.get_initial_state(1), states)


CHECKS = {
    "beside Keras": Configuration.beside_keras,
    "eager and compiled": Configuration.eager,
    "padding": Configuration.padding,
    "pieces": Configuration.pieces,
    "steps": Configuration.steps,
    "config": Configuration.config,
    "training and files": Configuration.training_and_files,
}
