"""What a compiler makes of the loop: `predict` and `fit` of a model compute what eager calls compute.

On JAX and TensorFlow XLA compiles all of it; PyTorch runs its recorded steps. `tools/run_tests.py` runs this file on
JAX with XLA's optimiser on, which the other tests do without.
"""

import os

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from tests.backends import one_in
from tests.table import CELL_ROWS, CELLS

NAMES = ["mlstm", "mogrifier_low_rank", "zoneout", "deep_rnn_dropped", "skip", "skim", "variable_computation"]
if keras.backend.backend() == "tensorflow":
    NAMES = one_in(2, NAMES)
BATCH, TIME, FEATURES = 4, 6, 5
MASK = np.arange(TIME) < np.array([[6], [4], [1], [5]])
MASK[0, 2] = False


def cell(name):
    made = CELLS[name]()
    config = made.get_config()
    # TensorFlow draws other masks where XLA compiles it; what is made of keys, such as zoneout, is the same.
    rates = {"dropout", "recurrent_dropout", "update_dropout"} if keras.backend.backend() == "tensorflow" else set()
    return type(made).from_config({**config, **dict.fromkeys(rates & set(config), 0.0)})


def parts(name):
    """Returns a model that reads inputs, a mask and initial states, and data for it."""
    keras.utils.set_random_seed(1)
    layer = kar.RNN(cell(name), return_sequences=True, return_state=True, return_decisions=CELL_ROWS[name].decides)
    layer.build((BATCH, TIME, FEATURES))
    rng = np.random.default_rng(1)
    x = rng.normal(size=(BATCH, TIME, FEATURES)).astype("float32")
    # Not from zeros; a count of steps stays what it is.
    states = [keras.ops.convert_to_numpy(state) for state in layer.get_initial_state(BATCH)]
    states = [0.3 + state if state.shape[-1] == 4 else state for state in states]
    inputs = keras.Input((TIME, FEATURES)), keras.Input((TIME,), dtype="bool")
    initial = [keras.Input(state.shape[1:]) for state in states]
    outputs = layer(inputs[0], mask=inputs[1], initial_state=initial)
    model = keras.Model([*inputs, *initial], outputs)
    for weight in model.trainable_weights:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return model, [x, MASK, *states]


def compiled(model, **kwargs):
    # On PyTorch that would be a compiler for C++.
    jit = keras.backend.backend() != "torch" and not kwargs.get("run_eagerly")
    model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=jit, **kwargs)
    return model


def numpy(tensors):
    return [keras.ops.convert_to_numpy(tensor) for tensor in tensors]


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="only JAX has its optimiser turned off")
def test_the_optimiser_is_on_where_it_should_be():
    import jax

    assert jax.config.values["jax_disable_most_optimizations"] == ("KAR_OPTIMIZED" not in os.environ)


@pytest.mark.parametrize("name", NAMES)
def test_predict_computes_what_a_call_computes(name):
    model, data = parts(name)
    eager = numpy(model([keras.ops.convert_to_tensor(array) for array in data]))
    compiled(model)
    found = model.predict(data, batch_size=BATCH, verbose=0)
    for k, (ours, theirs) in enumerate(zip(found, eager, strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=f"output {k}")
    # The mask and the initial state were read.
    unmasked = model.predict([data[0], np.ones_like(MASK), *data[2:]], batch_size=BATCH, verbose=0)
    from_zeros = model.predict([*data[:2], *map(np.zeros_like, data[2:])], batch_size=BATCH, verbose=0)
    assert np.abs(unmasked[0] - eager[0]).max() > 1e-3
    assert np.abs(from_zeros[0] - eager[0]).max() > 1e-3


@pytest.mark.parametrize("name", ["MLSTM", "GatedDeltaNet", "LSTM", "MinGRU"])
def test_predict_of_many_rows_whose_units_fill_no_vector(name, rng):
    """With jaxlib 0.10.2, a fourth of the compilations of the mLSTM return up to 1e30 for a unit of each head."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None, 16)), getattr(kar, name)(72, return_sequences=True)])
    x = rng.normal(size=(512, 8, 16)).astype("float32")
    eager = keras.ops.convert_to_numpy(model(x))
    # Of several sizes, as the tests keep what is compiled.
    for rows in (512, 504, 496, 488) if keras.backend.backend() == "jax" else (512,):
        found = compiled(model).predict(x[:rows], batch_size=rows, verbose=0)
        # Where the output of a head is near zero, the normalization of Gated DeltaNet magnifies rounding: eager results
        # differ by up to 1.3e-5 from those in double precision.
        tolerance = 5e-5 if name == "GatedDeltaNet" else 1e-5
        np.testing.assert_allclose(found, eager[:rows], rtol=1e-5, atol=tolerance)


# The initial state is given, so one that can be trained is not.
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("name", NAMES)
def test_fit_trains_as_an_eager_step_does(name):
    def trained(**kwargs):
        model, data = parts(name)
        model = compiled(keras.Model(model.inputs, model.outputs[0]), **kwargs)
        target = np.linspace(-1, 1, BATCH * TIME * 4).reshape(BATCH, TIME, 4)
        # The second batch has the noise of its own, and the weights that the first one has changed.
        losses = [model.train_on_batch(data, target) for _ in range(2)]
        return [*losses, *model.get_weights()]

    for k, (ours, theirs) in enumerate(zip(trained(), trained(run_eagerly=True), strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=f"loss or weight {k}")
