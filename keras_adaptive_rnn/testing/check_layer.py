"""Everything that a good recurrent layer must do, of any framework, in one call."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from keras_adaptive_rnn.testing.frameworks import layer_case
from keras_adaptive_rnn.testing.layer_checks import LAYER_CHECKS
from keras_adaptive_rnn.testing.results import LayerReport, report_of, run_checks


def check_layer(
    layer: Any,
    input_shape: tuple[int, int, int],
    seed: int = 0,
    skip: Sequence[str] | dict[str, str] = (),
    *,
    call: Callable[..., tuple] | None = None,
    equation: Callable[..., Any] | None = None,
    on_fail: str | None = "raise",
) -> LayerReport:
    r"""Checks that a recurrent layer of Keras, PyTorch or Flax does everything such a layer must do.

    | check | |
    | --- | --- |
    | `equation` | the outputs are those of `equation`, in float64 |
    | `states` | states come back in the shapes in which they are given, and what is given does not change |
    | `streaming` | pieces that carry the states compute what one pass computes |
    | `padding` | a row's padding changes neither the row nor another one |
    | `masks` | masked steps change nothing, wherever they are |
    | `resets` | resets inside a sequence compute what its pieces do apart |
    | `gradients` | they are those of finite differences, by the inputs and by each weight, in float64 where it runs |
    | `batch_independence` | the result of a row does not depend on the other rows |
    | `causality` | an output does not depend on later inputs |
    | `determinism` | a second call in inference returns the same numbers |
    | `float64`, `bfloat16` | outputs have the dtype, and are close to those in float32 |
    | `saving` | a model loaded from its `.keras` file computes the same |
    | `export`, `onnx` | so does a file of `torch.export`, `jax.export` or a SavedModel, and one in ONNX |
    | `keras_layer_test` | Keras's own `run_layer_test` passes |

    The weights get some noise, as zeros would hide errors. Outputs may differ by 1e-5, absolutely and relatively.

    Args:
        layer: Instance of a `keras.layers.Layer`, a `torch.nn.Module` or a `flax.nnx.Module`; copies of it are tested,
            in inference.
        input_shape: `(batch, time, features)`, at least `(2, 3, 1)`; small sizes will do.
        seed: Integer seed of inputs, and of the noise. Defaults to `0`.
        skip: Names of checks to leave out, such as `("causality", "streaming")` for a layer that reads backwards, too;
            or a dict of the reasons by name. Defaults to `()`.
        call: Function `(layer, inputs, states=None, mask=None, lengths=None, resets=None)` that returns the outputs
            `[batch, time, ...]` of the layer and its last states, in any structure, or `None` for these. It takes those
            arguments that the layer understands, tensors of its framework: `mask` and `resets` are boolean, `[batch,
            time]`, and `lengths` are those of padded rows. Defaults to `None`, which calls layers of Keras, modules of
            PyTorch that return `outputs, states`, and `nnx.RNN`.
        equation: Function `(weights, inputs)` that returns the outputs by NumPy: `weights` are arrays in float64 by
            name, such as `"weight_ih_l0"`, `"lstm_cell/kernel"` or `"cell/in_proj/kernel"`. Defaults to `None`.
        on_fail: `"raise"` for an error if a check fails, or `None` for a report in any case. Defaults to `"raise"`.

    Returns: A `LayerReport(name, rows)`, which `print` shows.

    Raises:
        AssertionError: A check failed. The message is the report, with the lines that reproduce each failure.
        TypeError: `layer` is of no framework.
        ValueError: Another argument has a value that is not allowed.

    Example:

    >>> report = keras_adaptive_rnn.testing.check_layer(
    ...     keras_adaptive_rnn.GRU(4), input_shape=(2, 4, 3), skip=("export", "onnx", "keras_layer_test")
    ... )
    >>> [row["check"] for row in report.rows if row["status"] == "passed"][:4]
    ['states', 'streaming', 'padding', 'masks']

    Source: `on_fail` and the reports are those of scikit-learn's `check_estimator`.
    """
    if on_fail not in ("raise", None):
        raise ValueError(f'Argument `on_fail` must be "raise" or None. Received: on_fail={on_fail!r}')
    with warnings.catch_warnings():
        # Exporters and frameworks warn of their own next versions.
        warnings.simplefilter("ignore")
        case = layer_case(layer, input_shape, seed, call, equation)
        results = run_checks(LAYER_CHECKS, skip, case)
    given = "".join(f", {name}={name}" for name, value in (("call", call), ("equation", equation)) if value)
    made = f"case = layer_case(layer, {case.input_shape}, seed={seed}{given})"
    report = report_of(type(layer).__name__, results, made)
    if on_fail == "raise" and not report.passed:
        raise AssertionError(str(report)) from next(result.error for result in results if result.error)
    return report
