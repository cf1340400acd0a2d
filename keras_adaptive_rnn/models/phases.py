"""How `SkimOrRead` trains its parts and runs them on arrays."""

import keras
import numpy as np

from keras_adaptive_rnn import _arguments

PHASES = ("skim", "read", "decide")
# What `fit` hands on to every phase, and to all but the decision network.
COMMON, CLASSIFIERS = ("batch_size", "verbose", "shuffle"), ("class_weight",)


class Phases:
    """The parts of a `SkimOrRead` as models of their own; a plain object, so that Keras does not track them twice."""

    def __init__(self, owner):
        self.owner = owner
        tokens = keras.Input((None,), dtype="int32")
        features = keras.Input((owner.skim_units,), dtype=owner.compute_dtype)
        self.bag = keras.Model(tokens, chain(owner.bag_layers, tokens), name="bag")
        self.models = {
            "skim": keras.Model(tokens, chain(owner.skim_layers, self.bag.output), name="skimmer"),
            "read": keras.Model(tokens, chain(owner.read_layers, tokens), name="reader"),
        }
        if owner.decide_layers:
            self.models["decide"] = keras.Model(features, chain(owner.decide_layers, features), name="decider")
        self.confidence_model = ConfidenceModel(owner)
        self.optimizer = None
        self.histories = {}

    # Training.

    def compile(self, optimizer, loss, metrics, others):
        self.optimizer = optimizer
        for name, model in self.models.items():
            own = type(optimizer).from_config(optimizer.get_config())
            if name == "decide":
                model.compile(own, "binary_crossentropy", metrics=["accuracy"], **others)
            else:
                model.compile(own, loss, metrics=copies(metrics), **others)
            # In the file from the start, so that a file of any age can be loaded and trained on.
            model.optimizer.build(model.trainable_variables)

    def fit(self, x, y, epochs, validation_data, callbacks, sample_weight, phases, others):
        owner = self.owner
        _arguments.reject_unknown(type(owner), others, (*COMMON, *CLASSIFIERS))
        phases = [name for name in self.models if name in check_phases(phases)]
        epochs = {name: _arguments.integer("epochs", by_phase("epochs", epochs, name, 1)) for name in phases}
        if not owner.compiled:
            raise ValueError(f"Model '{owner.name}' must be compiled before `fit`.")
        x, y = self.array("x", x), self.array("y", y)
        if len(x) != len(y):
            raise ValueError(f"Arguments `x` and `y` must be of one length. Received: {len(x)} and {len(y)}")
        if validation_data is not None:
            validation_data = tuple(self.array("validation_data", part) for part in validation_data)
        train, held_out = self._divide(len(x))
        # `set_model` of a callback is all that ties it to a phase, so one list serves them all.
        joined = keras.callbacks.History()
        joined.set_model(owner)
        joined.on_train_begin()
        for name in phases:
            arguments = {key: others[key] for key in COMMON if key in others}
            if name == "decide":
                inputs, targets, weights = self._decisions(x, y, held_out, sample_weight)
                checked = None if validation_data is None else self._decisions(*validation_data[:2])[:2]
            else:
                inputs, targets, checked = x[train], y[train], validation_data
                weights = None if sample_weight is None else np.asarray(sample_weight)[train]
                arguments |= {key: others[key] for key in CLASSIFIERS if key in others}
            history = self.models[name].fit(
                inputs,
                targets,
                epochs=epochs[name],
                validation_data=checked,
                callbacks=by_phase("callbacks", callbacks, name, None),
                sample_weight=weights,
                **arguments,
            )
            self.histories[name] = history
            joined.history |= {f"{name}_{key}": values for key, values in history.history.items()}
        owner.history = joined
        return joined

    def _divide(self, samples):
        """Returns the rows to train on, and those that are held out for the decision network."""
        everything = np.arange(samples)
        if "decide" not in self.models:
            return everything, everything[:0]
        held_out = round(self.owner.held_out * samples)
        if not 0 < held_out < samples:
            raise ValueError(
                f"Argument `held_out` must leave samples on both sides. Received: held_out={self.owner.held_out} of "
                f"{samples} samples"
            )
        # Without a seed any choice will do, but it must be the same when `fit` is called again.
        mixed = np.random.default_rng(self.owner.seed or 0).permutation(samples)
        return np.sort(mixed[held_out:]), np.sort(mixed[:held_out])

    def _decisions(self, x, y, rows=slice(None), sample_weight=None):
        """Returns what the decision network trains on: features, whether reading would help, and weights."""
        x, y = x[rows], y[rows]
        y = classes_of(y, self.owner.classes)
        (z,) = self.in_batches(self.bag, x, 256)
        (p,) = self.in_batches(self.models["skim"], x, 256)
        (q,) = self.in_batches(self.models["read"], x, 256)
        helps = (p.argmax(axis=1) != y) & (q.argmax(axis=1) == y)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return z, helps[:, None].astype("float32"), weights

    # Inference, on arrays.

    def array(self, name, value):
        """Returns `value` as an array, or raises an error that names the argument."""
        value = keras.ops.convert_to_numpy(value) if keras.ops.is_tensor(value) else np.asarray(value)
        if value.dtype.kind not in "biuf" or value.ndim == 0:
            raise TypeError(f"Argument `{name}` must be an array. Received: a {type(value).__name__} of {value.dtype}")
        return value

    def look(self, x, batch_size):
        """Returns what the bag of words says of each input, and how sure it is."""
        return self.in_batches(self.confidence_model, x, batch_size)

    def in_batches(self, model, x, batch_size):
        """Returns the outputs of a model as a list of arrays.

        The last batch is filled up to one of a dozen sizes, so that no more are compiled however many inputs are left
        to read.
        """
        parts = []
        for start in range(0, len(x), batch_size):
            batch = x[start : start + batch_size]
            rows = len(batch)
            wanted = bucket(rows, batch_size)
            if wanted > rows:
                batch = np.concatenate([batch, np.repeat(batch[:1], wanted - rows, axis=0)])
            outputs = model.predict_on_batch(batch)
            outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
            parts.append([np.asarray(output)[:rows] for output in outputs])
        return [np.concatenate(column) for column in zip(*parts, strict=True)]


class ConfidenceModel(keras.Model):
    """What the bag of words says, and how sure it is, in one compiled function."""

    def __init__(self, owner):
        super().__init__()
        self.look = owner.look
        self.layers_of_owner = [*owner.bag_layers, *owner.skim_layers, *owner.decide_layers]
        self.autocast = False

    def call(self, tokens):
        return self.look(tokens)


def bucket(rows, batch_size):
    """Returns the size to which a batch is filled up: a power of two, then multiples of an eighth of the full size."""
    if keras.backend.backend() == "torch":
        # Nothing is compiled for a shape.
        return rows
    eighth = -(-batch_size // 8)
    wanted = 1 << (rows - 1).bit_length() if rows <= eighth // 2 else -(-rows // eighth) * eighth
    return min(wanted, batch_size)


def chain(layers, x):
    for layer in layers:
        x = layer(x)
    return x


def classes_of(y, classes):
    """Returns classes as integers `[samples]`."""
    return y.argmax(axis=-1) if y.ndim == 2 and y.shape[-1] == classes else y.reshape(-1)


def copies(metrics):
    """Returns the metrics of one more model: objects count for the model that they are given to."""
    if metrics is None or isinstance(metrics, str):
        return metrics

    def copy(metric):
        return type(metric).from_config(metric.get_config()) if isinstance(metric, keras.metrics.Metric) else metric

    return keras.tree.map_structure(copy, metrics)


def check_phases(phases):
    unknown = set(phases) - set(PHASES) if isinstance(phases, (list, tuple)) else {phases}
    if unknown:
        raise ValueError(
            f"Argument `phases` must be a list of some of {', '.join(PHASES)}. Received: phases={phases!r}"
        )
    return phases


def by_phase(argument, value, name, default):
    """Returns what an argument says for one phase, which a dict may say for each."""
    if not isinstance(value, dict):
        return value
    if not set(value) <= set(PHASES):
        raise ValueError(f"Argument `{argument}` must have keys of {', '.join(PHASES)}. Received: {', '.join(value)}")
    return value.get(name, default)
