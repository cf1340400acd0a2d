"""What the authors' code computes in single passes and in whole trainings (see golden_training/README.md)."""

import contextlib

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn._keras import replaced
from keras_adaptive_rnn.testing import given_noise
from tests.backends import dealt
from tests.golden.layouts.base import Reader, join, reorder, torch_lstm
from tests.golden_training import case_name, cases


def golden(*systems, names="*", deal=list):
    return pytest.mark.parametrize(("name", "arrays", "meta"), deal(cases(*systems, names=names)), ids=case_name)


def close(ours, theirs, what="", tolerance=1e-5):
    # Two NaN would be equal.
    assert np.isfinite(theirs).all(), what
    np.testing.assert_allclose(
        ops.convert_to_numpy(ours), theirs, rtol=tolerance, atol=tolerance, err_msg=what, verbose=True
    )


def numpy(x):
    return np.array(ops.convert_to_numpy(x))


def float32(*arrays):
    return [array.astype("float32") for array in arrays]


# Parts of AWD-LSTM.


@golden("awd_regularization")
def test_activation_regularization(name, arrays, meta):
    config, last = meta["config"], meta["config"]["layers"] - 1
    raw, mask = float32(arrays[f"aux.raw{last}"], arrays[f"aux.mask_keep{last}"] / config["keep"])
    ar, tar = (kar.ActivationRegularization(*factors) for factors in ((config["alpha"], 0), (0, config["beta"])))

    def penalty(layer, raw):
        return added_loss(layer, raw * ops.convert_to_tensor(mask), raw)[1]

    losses, gradients = zip(*(_value_and_gradient(lambda x, a=a: penalty(a, x), raw) for a in (ar, tar)), strict=True)
    close(losses[0], arrays["activation_regularization"], "AR")
    close(losses[1], arrays["temporal_activation_regularization"], "TAR")
    close(sum(losses), arrays["loss"], "loss")
    close(sum(gradients), arrays[f"g.raw{last}"], "gradient")


def added_loss(layer, *inputs, **arguments):
    """Returns what a layer returns in training, and what it adds to the loss."""
    added = []
    # In a function that JAX differentiates, a layer has no `losses`.
    with replaced(layer, add_loss=added.append):
        output = layer(*inputs, **arguments, training=True)
    return output, added[0]


def _value_and_gradient(function, array):
    value, _, (gradient,) = engine.gradients(function, [], [ops.convert_to_tensor(array)])
    return value, gradient


@golden("awd_embedding_dropout", "awd", names="awd_embedding_dropout*")
def test_word_dropout(name, arrays, meta):
    weights, rate = arrays["w.embeddings"], meta["config"]["dropout"]
    layer = kar.TiedEmbedding(*weights.shape, word_dropout=rate, use_bias=False)
    layer.build()
    layer.set_weights(float32(weights))
    outputs = []

    def loss():
        outputs.append(layer(arrays["aux.words"], training=True))
        return ops.sum(outputs[-1] ** 2)

    with replaced(
        layer, draw_factors=lambda: ops.convert_to_tensor(*float32(arrays["aux.mask_keep"][:, 0] / (1 - rate)))
    ):
        close(layer(arrays["aux.words"], training=True), arrays["y"])
        value, (gradient,), _ = engine.gradients(loss, layer.trainable_variables, [])
    close(value, arrays["loss"], "loss")
    close(gradient, arrays["g.w.embeddings"], "gradient")


def one_bias_lstm(read):
    return [read("weight_ih").T, read("weight_hh").T, read("bias")]


# Whole language models of PyTorch, in one pass.


class TorchModel:
    """Layers with the weights of a golden file: embedding, LSTMs, and a mixture of softmaxes if there is one."""

    def __init__(self, arrays, meta):
        self.arrays, config = arrays, meta["config"]
        count = 1 + max(int(key[7]) for key in arrays if key.startswith("w.layer"))
        self.read, self.read_gradient = Reader(arrays, "w.", False), Reader(arrays, "g.w.", True)
        vocabulary, size = arrays["w.embeddings"].shape
        mixed = "w.prior.weight" in arrays
        untied = "w.decoder.weight" in arrays
        self.embedding = kar.TiedEmbedding(
            vocabulary, size, use_bias=not untied, word_dropout=0.5 if "aux.mask_keep_word" in arrays else 0.0
        )
        self.rnns = [
            kar.WeightDropLSTM(arrays[f"s0.h{k}"].shape[-1], 0.5, return_sequences=True, return_state=True)
            for k in range(count)
        ]
        self.output = kar.TiedEmbedding(vocabulary, size) if untied else self.embedding
        self.mixture = None
        if mixed:
            dropout = 0.5 if "aux.mask_keep_latent" in arrays else 0.0
            self.mixture = kar.MixtureOfSoftmaxes(config["n_experts"], self.output, dropout, epsilon=1e-8)
        # What a source without a rate of its own for a place uses there.
        self.config = config
        self.regularization = kar.ActivationRegularization(config.get("alpha", 0), config.get("beta", 0))
        self.build(size)
        self.arrange(lambda variable, value: variable.assign(value), self.read)

    def build(self, size):
        self.embedding.build()
        for rnn in self.rnns:
            rnn.build((None, None, size))
            size = rnn.units
        if self.mixture is not None:
            self.mixture.build((None, None, size))

    def arrange(self, do, read):
        """Calls `do(variable, array)` for every weight."""
        pairs = [(self.embedding.embeddings, read("embeddings"))]
        for k, rnn in enumerate(self.rnns):
            inside = read.inside(f"layer{k}.")
            weights = torch_lstm(inside) if "bias_ih" in inside else one_bias_lstm(inside)
            pairs += zip(rnn.cell.weights, weights, strict=True)
        pairs.append((self.output.bias, read("decoder.bias")))
        if self.output is not self.embedding:
            pairs.append((self.output.embeddings, read("decoder.weight")))
        if self.mixture is not None:
            pairs += [
                (self.mixture.prior.kernel, read("prior.weight").T),
                (self.mixture.latent.kernel, read("latent.weight").T),
                (self.mixture.latent.bias, read("latent.bias")),
            ]
        for variable, array in pairs:
            do(variable, array)

    def mask(self, place, rate):
        kept = self.arrays.get(f"aux.mask_keep_{place}")
        return 1.0 if kept is None else ops.convert_to_tensor((kept / (1 - rate)).astype("float32"))

    def rate(self, *names):
        return next((self.config[name] for name in names if name in self.config), 0.0)

    @contextlib.contextmanager
    def given_masks(self):
        """Puts the given masks in the place of random ones."""
        with contextlib.ExitStack() as stack:
            word = self.mask("word", self.rate("dropoute", "dropout")) * ops.ones((len(self.arrays["w.embeddings"]), 1))
            stack.enter_context(replaced(self.embedding, draw_factors=lambda: word[:, 0]))
            if self.mixture is not None:
                latent = self.mask("latent", self.rate("dropout"))
                stack.enter_context(replaced(self.mixture, draw_factors=lambda shape: latent))
            for k, rnn in enumerate(self.rnns):
                mask = self.arrays.get(f"aux.weight_mask{k}")
                mask = np.ones(self.arrays[f"w.layer{k}.weight_hh"].shape) if mask is None else mask
                stack.enter_context(given_noise(rnn.cell.recurrent_map, rate=mask.T.astype("float32")))
            yield

    def __call__(self, states):
        """Returns the logits, the states and the penalties, in training."""
        x = self.embedding(self.arrays["aux.words"], training=True)
        x = x * self.mask("input", self.rate("dropouti", "dropout"))
        last, states = [], iter(states)
        for k, rnn in enumerate(self.rnns):
            raw, *ends = rnn(x, initial_state=[next(states), next(states)], training=True)
            last += ends
            place = "output" if rnn is self.rnns[-1] else f"layer{k}"
            x = raw * self.mask(place, self.rate("dropout") if place == "output" else self.rate("dropouth", "dropout"))
        x, penalty = added_loss(self.regularization, x, raw)
        logits = self.mixture(x, training=True) if self.mixture is not None else self.output(x, reverse=True)
        return logits, last, penalty


# Where PyTorch's padding index, -1 there, has stopped the gradient of the last word.
FROZEN_LAST_WORD = {"awd_lm_eval", "mos_yang"}


@pytest.mark.parametrize(
    ("name", "arrays", "meta"), dealt([*cases("awd", names="awd_lm_*"), *cases("mos")]), ids=case_name
)
def test_language_model(name, arrays, meta):
    model = TorchModel(arrays, meta)
    state_names = [f"{s}{k}" for k in range(len(model.rnns)) for s in "hc"]
    states = float32(*(arrays[f"s0.{s}"] for s in state_names))
    targets = ops.one_hot(arrays["aux.targets"], len(arrays["w.embeddings"]))
    variables, gradients = [], []
    model.arrange(lambda variable, array: (variables.append(variable), gradients.append(array)), model.read_gradient)

    def loss(*states):
        logits, _, penalty = model(states)
        return penalty - ops.mean(ops.sum(ops.log_softmax(logits, axis=-1) * targets, axis=-1))

    with model.given_masks():
        logits, last, _ = model(states)
        value, by_variable, by_state = engine.gradients(loss, variables, [ops.convert_to_tensor(s) for s in states])
    close(logits, arrays["logits" if "logits" in arrays else "y"], "logits")
    close(value, arrays["loss"], "loss")
    for state, ours, gradient in zip(state_names, last, by_state, strict=True):
        close(ours, arrays[f"s1.{state}"], f"state {state}")
        close(gradient, arrays[f"g.s0.{state}"], f"gradient of state {state}")
    for variable, ours, theirs in zip(variables, by_variable, gradients, strict=True):
        rows = slice(-1) if variable is model.embedding.embeddings and meta["name"] in FROZEN_LAST_WORD else slice(None)
        close(ours[rows], theirs[rows], f"gradient of {variable.path}")


# Averages and their triggers.


@golden("awd", names="asgd_torch_*")
def test_averages_are_those_of_asgd(name, arrays, meta):
    config = meta["config"]
    # PyTorch's mean begins with the second step after `t0`.
    inner = keras.optimizers.SGD(config["lr"], weight_decay=config["weight_decay"])
    optimizer = kar.optimizers.Averaged(inner, skip=config["t0"] + 1)
    weight = keras.Variable(arrays["w.p"].astype("float32"))
    optimizer.build([weight])
    optimizer.averaging.assign(1)
    for k, gradient in enumerate(float32(*arrays["aux.gradients"])):
        optimizer.apply([ops.convert_to_tensor(gradient)])
        close(weight.value, arrays["y"][k], f"weights after step {k}")
        close(optimizer.averages[0].value, arrays["seq.average"][k], f"average after step {k}")


def compiled(trigger):
    """Returns the optimizer of a small model, which the trigger watches."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(kar.optimizers.Averaged(keras.optimizers.SGD(0.1)), "mse")
    trigger.set_model(model)
    trigger.on_train_begin()
    return model.optimizer


@golden("awd", names="ntasgd_trigger*")
def test_ntasgd_trigger(name, arrays, meta):
    trigger = kar.callbacks.AveragingTrigger("val_loss", patience=meta["config"]["nonmono"])
    optimizer = compiled(trigger)
    flags = []
    for epoch, value in enumerate(arrays["x"]):
        trigger.on_epoch_begin(epoch)
        trigger.on_epoch_end(epoch, {"val_loss": value})
        flags.append(float(ops.convert_to_numpy(optimizer.averaging.value)))
    # Once on, averaging stays on.
    np.testing.assert_array_equal(flags, np.maximum.accumulate(arrays["condition"]))


@golden("averaging_trigger")
def test_averaging_trigger(name, arrays, meta):
    config = meta["config"]
    latest = config["trigger_averaging_at_the_latest"]
    trigger = kar.callbacks.AveragingTrigger(
        "val_loss",
        patience=config["trigger_averaging_turns"],
        rule="since_best",
        latest=None if latest < 0 else latest,
    )
    optimizer = compiled(trigger)
    flags = []
    # A turn is an epoch; the first value there is from before any training.
    for turn in range(len(arrays["averaging"])):
        trigger.on_epoch_end(turn - 1, {"val_loss": arrays["x"][turn]})
        trigger._is_first = False
        trigger.on_epoch_begin(turn)
        flags.append(float(ops.convert_to_numpy(optimizer.averaging.value)))
    np.testing.assert_array_equal(flags, arrays["averaging"])


@golden("averaging_trigger")
def test_drops_of_the_rate_are_those_of_keras(name, arrays, meta):
    """Callbacks of Keras do the rest, with a patience of one more, until the rate is dropped at the latest."""
    config = meta["config"]
    drops, stops = config["drop_learning_rate_turns"], config["early_stopping_turns"]
    turns, latest = len(arrays["rate_multiplier"]), config["drop_learning_rate_at_the_latest"]
    turns = min(turns, latest) if latest >= 0 else turns
    optimizer = compiled(kar.callbacks.AveragingTrigger())
    # A rate of 1, so that it is the multiplier.
    optimizer.learning_rate = 1.0
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer, "mse")
    never = turns + 1
    plateau = keras.callbacks.ReduceLROnPlateau(
        patience=drops + 1 if drops >= 0 else never, factor=config["drop_learning_rate_multiplier"] % 1, min_delta=0
    )
    stop = keras.callbacks.EarlyStopping(patience=stops + 1 if stops >= 0 else never)
    for callback in (plateau, stop):
        callback.set_model(model)
        callback.on_train_begin()
    for turn in range(turns):
        for callback in (plateau, stop):
            callback.on_epoch_end(turn, {"val_loss": arrays["x"][turn]})
        close(model.optimizer.learning_rate.value, arrays["rate_multiplier"][turn], f"rate after turn {turn}")
    assert not model.stop_training
    if stops >= 0 and arrays["finished_at_turn"] == turns < config["turns"]:
        stop.on_epoch_end(turns, {"val_loss": arrays["x"][turns]})
        assert model.stop_training


# Whole trainings.


class Segments(keras.utils.PyDataset):
    """The segments of one epoch, in given lengths."""

    def __init__(self, rows, lengths, padded=None):
        super().__init__()
        self.rows, self.lengths, self.padded = rows.astype("int32"), lengths, padded

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        start, length = int(sum(self.lengths[:index])), int(self.lengths[index])
        rows = self.rows[:, start : start + length + 1]
        mask = np.ones((len(rows), length), bool)
        if self.padded:
            rows, mask = (
                np.pad(rows, [(0, 0), (0, self.padded - length)]),
                np.pad(mask, [(0, 0), (0, self.padded - length)]),
            )
        return (rows[:, :-1], mask), rows[:, 1:], mask.astype("float32")


class GivenRates(keras.callbacks.Callback):
    def __init__(self, rates):
        super().__init__()
        self.rates = rates

    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = self.rates[batch]


class FreshRows(keras.callbacks.Callback):
    """Validation rows that lie side by side, here one batch after the other."""

    def on_test_batch_begin(self, batch, logs=None):
        for layer in self.model.layers:
            if getattr(layer, "stateful", False):
                layer.reset_state()


class Recorder(keras.callbacks.Callback):
    """Records weights and averages at the end of each epoch, whichever of both the model holds."""

    def __init__(self):
        super().__init__()
        self.weights, self.averages = [], []

    def on_epoch_end(self, epoch, logs=None):
        optimizer = self.model.optimizer
        values = [
            [ops.convert_to_numpy(v).copy() for v in vs] for vs in (optimizer._trainable_variables, optimizer.averages)
        ]
        if ops.convert_to_numpy(optimizer.swapped.value):
            values.reverse()
        self.weights.append(values[0])
        self.averages.append(values[1])


@golden("awd_training")
def test_awd_training(name, arrays, meta):
    """The whole of main.py by `fit`: segments, rates, clipping, decay, penalties, NT-ASGD, evaluation, best epoch."""
    config = meta["config"]
    rows = arrays["train_tokens"]
    embedding = kar.TiedEmbedding(*arrays["w.embeddings"].shape)
    inputs = keras.Input(batch_shape=(len(rows), None), dtype="int32")
    mask = keras.Input(batch_shape=(len(rows), None), dtype="bool")
    raw, rnns = embedding(inputs), []
    for units in config["units"]:
        rnns.append(kar.LSTM(units, return_sequences=True, stateful=True))
        raw = rnns[-1](raw, mask=mask)
    x = kar.ActivationRegularization(config["alpha"], config["beta"])(raw, raw, mask=mask)
    model = keras.Model([inputs, mask], embedding(x, reverse=True))

    def arranged(prefix, epoch=None):
        read = Reader(
            {k: v if epoch is None else v[epoch] for k, v in arrays.items() if k.startswith(prefix)}, prefix, False
        )
        weights = [read("embeddings"), read("decoder.bias")]
        for k in range(len(rnns)):
            weights += one_bias_lstm(read.inside(f"layer{k}."))
        return weights

    variables = [embedding.embeddings, embedding.bias, *(w for rnn in rnns for w in rnn.cell.weights)]
    for variable, value in zip(variables, arranged("w."), strict=True):
        variable.assign(value)
    optimizer = kar.optimizers.Averaged(
        keras.optimizers.SGD(config["lr"], weight_decay=config["weight_decay"], global_clipnorm=config["clip"]), skip=1
    )
    mean = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    metric = keras.metrics.SparseCategoricalCrossentropy(from_logits=True, name="xe")
    model.compile(optimizer, mean, weighted_metrics=[metric])

    # JAX compiles once a length, and TensorFlow takes two segments of one length for the shape of all: there all
    # segments are padded to one length, and masked.
    backend, starts = keras.backend.backend(), arrays["lengths"][:, :2]
    pads = backend == "jax" or (backend == "tensorflow" and (starts[:, 0] == starts[:, 1]).any())
    padded = int(arrays["lengths"].max()) if pads else None
    valid = arrays["valid_tokens"]
    lacking = -len(valid) % len(rows)
    valid = np.pad(valid, [(0, lacking), (0, 0)])
    validation = ValidationRows(valid, len(rows), lacking, padded)
    trigger = kar.callbacks.AveragingTrigger("val_xe", config["nonmono"], restore_best_weights=False)
    recorder, best, losses = Recorder(), [], []
    for epoch in range(config["epochs"]):
        lengths = [length for length in arrays["lengths"][epoch] if length]
        run = model.fit(
            Segments(rows, lengths, padded),
            shuffle=False,
            initial_epoch=epoch,
            epochs=epoch + 1,
            verbose=0,
            validation_data=validation,
            callbacks=[
                kar.callbacks.StreamStates(),
                FreshRows(),
                GivenRates(arrays["rates_used"][epoch]),
                trigger,
                recorder,
            ],
        )
        assert run.history["averaging"] == [arrays["averaging"][epoch]]
        losses += run.history["val_xe"]
        close(losses[-1], arrays["val_loss"][epoch], f"validation loss of epoch {epoch}", 2e-5)
        if losses[-1] == min(losses):
            best.append(epoch + 1)
        places = [next(k for k, v in enumerate(model.trainable_variables) if v is variable) for variable in variables]
        for what, ours in (("w", recorder.weights), ("average", recorder.averages)):
            if what == "average" and not arrays["averaging"][epoch]:
                continue
            for place, theirs in zip(places, arranged(f"seq.{what}.", epoch), strict=True):
                close(ours[-1][place], theirs, f"{what} after epoch {epoch}", 2e-5)
    np.testing.assert_array_equal(best, arrays["saved_after"])


class ValidationRows(keras.utils.PyDataset):
    """Rows of a text of their own, as many at a time as the model is built for; the last ones lack."""

    def __init__(self, rows, batch_size, lacking, padded):
        super().__init__()
        self.parts = np.split(rows.astype("int32"), len(rows) // batch_size)
        self.lacking, self.padded = lacking, padded

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, index):
        (x, mask), y, weights = Segments(self.parts[index], [self.parts[index].shape[1] - 1], self.padded)[0]
        if index == len(self) - 1 and self.lacking:
            weights[-self.lacking :] = 0
        return (x, mask), y, weights


class LambModel:
    """Lamb's language model: tied embeddings, a stack whose outputs add up, a projection where the sizes differ."""

    def __init__(self, arrays, stateful_rows=None, regularizer=None):
        self.arrays = arrays
        self.depth = sum(key.startswith("w.cell_") and key.endswith(".W") for key in arrays)
        self.rounds = sum(key.startswith("w.cell_0.fm_") and key.endswith("bias") for key in arrays)
        kinds = {f"{w}_regularizer": regularizer for w in ("kernel", "recurrent", "bias")}
        cells = []
        for k in range(self.depth):
            units = len(arrays[f"w.cell_{k}.B_j"])
            if self.rounds:
                rank = arrays["w.cell_0.fm_0_weight_a"].shape[1]
                arguments = {"rounds": self.rounds, "rank": rank, "gate_bias": True}
                cells.append(kar.MogrifierCell(units, cap_input_gate=True, **arguments, **kinds))
            else:
                cells.append(kar.LSTMCell(units, cap_input_gate=True, **kinds))
        size = arrays["w.embeddings"].shape[1]
        self.embedding = kar.TiedEmbedding(
            *arrays["w.embeddings"].shape, embeddings_regularizer=regularizer, bias_regularizer=regularizer
        )
        self.rnn = kar.RNN(
            kar.StackedCells(cells, connection="skip") if len(cells) > 1 else cells[0],
            return_sequences=True,
            return_state=stateful_rows is None,
            stateful=stateful_rows is not None,
            zero_output_for_mask=True,
        )
        self.embedding.build()
        self.rnn.build((stateful_rows, None, size))
        self.projection = None
        if "w.output.projection.kernel" in arrays:
            self.projection = keras.layers.Dense(size, use_bias=False)
            self.projection.build((None, None, units))
        self.variables = [self.embedding.embeddings, self.embedding.bias, *self.rnn.cell.weights]
        self.variables += [] if self.projection is None else self.projection.weights
        for variable, value in zip(self.variables, self.arranged("w."), strict=True):
            variable.assign(value)

    def arranged(self, prefix, turn=None):
        """Returns the arrays in the order of `variables`."""
        arrays = {k: v if turn is None else v[turn] for k, v in self.arrays.items() if k.startswith(prefix)}
        read = Reader(arrays, prefix, False)
        weights = [read("embeddings"), read("output.bias")[0]]
        for k in range(self.depth):
            inside = read.inside(f"cell_{k}.")
            joined, inputs = reorder(inside("W"), "jofi", "ifjo"), len(inside("W")) - len(inside("B_j"))
            weights += [joined[:inputs], joined[inputs:], join(inside(f"B_{gate}") for gate in "ifjo")]
            for r in range(self.rounds):
                weights += [inside(f"fm_{r}_{which}") for which in ("weight_a", "weight_b", "bias")]
        return weights + ([read("output.projection.kernel")] if self.projection is not None else [])

    def logits(self, outputs):
        z = outputs if self.projection is None else self.projection(outputs)
        return self.embedding(z, reverse=True)


@golden("lamb_lm", deal=dealt)
def test_lamb_language_model(name, arrays, meta):
    config, model = meta["config"], LambModel(arrays)
    lengths, (rows, steps) = arrays["aux.lengths"], arrays["aux.source"].shape
    mask = np.arange(steps) < lengths[:, None]
    targets = ops.one_hot(arrays["aux.target"], config["vocab_size"])
    # A stack with skip connections keeps its output as a state, which is read nowhere.
    names = [f"{k}.{s}" for k in reversed(range(model.depth)) for s in "hc"]
    sizes = keras.tree.flatten(model.rnn.cell.state_size)
    names = [None] * (len(sizes) - len(names)) + names
    states = [
        np.zeros((rows, size), "float32") if state is None else arrays[f"s0.{state}"].astype("float32")
        for state, size in zip(names, sizes, strict=True)
    ]
    # Summed over steps and averaged over rows, where ours are means over steps.
    per_row = lengths.sum() / rows
    norm = kar.ActivationRegularization(config["activation_norm_penalty"] * per_row, 0)

    def forward(temperature=1.0):
        outputs, *last = model.rnn(
            model.embedding(arrays["aux.source"]), initial_state=states, mask=mask, training=True
        )
        outputs, penalty = added_loss(norm, outputs, outputs, mask=mask)
        logits = model.logits(outputs)
        xe = -ops.sum(ops.log_softmax(temperature * logits, axis=-1) * targets, axis=-1) * ops.cast(mask, "float32")
        return logits, last, xe, penalty

    def loss():
        *_, xe, penalty = forward()
        l2 = 0.5 * sum(ops.sum(ops.square(variable)) for variable in model.variables)
        return ops.mean(ops.sum(xe, axis=1)) + config["l2_penalty"] * l2 + penalty

    logits, last, xe, _ = forward()
    log_p = numpy(ops.log_softmax(ops.stop_gradient(logits), axis=-1))
    close(np.where(mask[..., None], log_p, 0), np.where(mask[..., None], arrays["y"], 0), "log probabilities")
    close(xe, arrays["xe"] * mask, "cross entropy")
    close(forward(config["eval_temperature"])[2], arrays["xe_temperature"] * mask, "at a temperature")
    for state, ours in zip(names, last, strict=True):
        if state is not None:
            close(ours, arrays[f"s1.{state}"], f"state {state}")
    optimizer = keras.optimizers.Adam(
        config["learning_rate"],
        beta_1=0.0,
        beta_2=config["rmsprop_beta2"],
        epsilon=config["rmsprop_epsilon"],
        global_clipnorm=config["max_grad_norm"],
    )
    for step in range(3):
        value, gradients, _ = engine.gradients(loss, model.variables, [])
        if step == 0:
            close(value, arrays["loss"], "loss")
            for variable, ours, theirs in zip(model.variables, gradients, model.arranged("g.w."), strict=True):
                close(ours, theirs, f"gradient of {variable.path}", 2e-5)
        optimizer.apply([ops.convert_to_tensor(gradient) for gradient in gradients], model.variables)
        if step != 1:
            for variable, theirs in zip(model.variables, model.arranged(f"w_after_{step + 1}."), strict=True):
                close(variable.value, theirs, f"{variable.path} after {step + 1} steps", 2e-5)


class GivenValues(keras.callbacks.Callback):
    """Puts the validation values of the source into the logs, where the trigger finds them."""

    def __init__(self, values):
        super().__init__()
        self.values = values

    def on_epoch_end(self, epoch, logs=None):
        logs["val_xe"] = self.values[epoch]


class GivenBatches(keras.utils.PyDataset):
    def __init__(self, source, target, turns):
        super().__init__()
        self.source, self.target = source.astype("int32"), target.astype("int32")
        self.steps, self.turn = len(source) // turns, 0

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        return self.source[self.turn * self.steps + index], self.target[self.turn * self.steps + index]


@golden("lamb_training")
def test_lamb_training(name, arrays, meta):
    """A whole training by `fit`, whose losses are means over tokens: penalty and clip are those over the steps."""
    config = meta["config"]
    assert (arrays["aux.lengths"] == config["time"]).all()
    model = LambModel(arrays, config["batch"], keras.regularizers.L2(config["l2_penalty"] / (2 * config["time"])))
    inputs = keras.Input(batch_shape=(config["batch"], config["time"]), dtype="int32")
    network = keras.Model(inputs, model.logits(model.rnn(model.embedding(inputs))))
    optimizer = keras.optimizers.Adam(
        config["learning_rate"],
        beta_1=0.0,
        beta_2=config["rmsprop_beta2"],
        epsilon=config["rmsprop_epsilon"] / config["time"],
        global_clipnorm=config["max_grad_norm"] / config["time"],
    )
    network.compile(kar.optimizers.Averaged(optimizer), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    recorder = Recorder()
    trigger = kar.callbacks.AveragingTrigger(
        "val_xe",
        config["trigger_averaging_turns"],
        rule="since_best",
        latest=config["trigger_averaging_at_the_latest"],
        restore_best_weights=False,
    )
    batches = GivenBatches(arrays["aux.source"], arrays["aux.target"], config["turns"])
    turns = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: setattr(batches, "turn", epoch))
    run = network.fit(
        batches,
        shuffle=False,
        epochs=config["turns"],
        verbose=0,
        callbacks=[turns, GivenValues(arrays["valid_xe"][1:]), trigger, recorder],
    )
    # Turn 0 is the evaluation before any training.
    np.testing.assert_array_equal(run.history["averaging"], arrays["averaging"][1:])
    places = [
        next(k for k, v in enumerate(network.trainable_variables) if v is variable) for variable in model.variables
    ]
    for turn in range(1, config["turns"] + 1):
        for place, theirs in zip(places, model.arranged("seq.w.", turn), strict=True):
            close(recorder.weights[turn - 1][place], theirs, f"weights after turn {turn}", 2e-5)
        if arrays["averaging"][turn]:
            for place, theirs in zip(places, model.arranged("seq.average.", turn), strict=True):
                close(recorder.averages[turn - 1][place], theirs, f"average after turn {turn}", 2e-5)
