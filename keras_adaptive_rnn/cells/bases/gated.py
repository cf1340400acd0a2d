"""The base class of gated cells: a map of the input, a map of the state and a bias."""

from keras_adaptive_rnn import _arguments, activations, maps
from keras_adaptive_rnn._saving import hand_over
from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.affine import AffineInputs


class GatedCell(AffineInputs):
    r"""A cell whose gates are affine in input and state: $a = x W + h U + b$, concatenated over the gates.

    A subclass lists its gates in `gates` and implements `update(a, states, run)`, which returns `output, states`
    of a step from $a$.

    If the gates read different vectors, it implements `step` instead. `self.kernel_map` is $W$, `self.recurrent_map` is
    $U$, and `project` has already computed $x W + b$; `self.recurrent(h, run)` returns $h U$. `groups` lists how
    many gates share each recurrent product, and `self.recurrent(h, run, k)` returns the product of group $k$.

    A subclass whose steps use $W$ and $U$ in $a$ alone sets `is_affine`, so that `keras_adaptive_rnn.callbacks.LSUV`
    scales them.

    Weights, in order: the weights of `kernel_map`, the weights of `recurrent_map`, `bias`, and the gains of the layer
    normalizations. A trained initial state comes before all of them.

    Args:
        units: Positive integer, dimensionality of the output space and of each gate.
        activation: Activation function of the candidate state. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        recurrent_regularizer: Regularizer of $U$, `None` by default.
        recurrent_constraint: Constraint of $U$, `None` by default.
        recurrent_map: The linear map $U$, as `kernel_map`. Defaults to `"full"`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one mask.
        kernel_map, kernel_initializer, kernel_regularizer, kernel_constraint, bias_initializer, bias_regularizer,
            bias_constraint: As in `keras_adaptive_rnn.cells.LinearCell`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.
    """

    groups = None
    # Whether a step uses $W$ and $U$ once for each gate, and in $x W + h U + b$ alone.
    is_affine = False
    # Thin factors of low-rank maps stay whole.
    divided_weights = {"kernel_map/kernel": 1, "recurrent_map/kernel": 1}
    held_by = {**AffineInputs.held_by, "recurrent_kernel": "recurrent_map"}
    # How many blocks each call of the recurrent initializer covers; `None` for one call for all blocks.
    init_groups = None

    def __init__(
        self,
        units: int,
        activation: Activation = "tanh",
        use_bias: bool = True,
        *,
        recurrent_initializer: Initializer = "orthogonal",
        recurrent_regularizer: Regularizer = None,
        recurrent_constraint: Constraint = None,
        recurrent_map: str | maps.LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        **kwargs,
    ):
        super().__init__(units, use_bias=use_bias, **kwargs)
        self.activation = _arguments.resolve("activation", activation, activations.get)
        self.set_resolved(
            recurrent_initializer=recurrent_initializer,
            recurrent_regularizer=recurrent_regularizer,
            recurrent_constraint=recurrent_constraint,
        )
        self.layer_normalization = _arguments.boolean("layer_normalization", layer_normalization)
        self.per_gate_dropout = _arguments.boolean("per_gate_dropout", per_gate_dropout)
        self.recurrent_map = self.bind_map("recurrent_map", recurrent_map, self.units, **self.arguments_of("recurrent"))
        self.recurrent_norms = []

    def build(self, input_shape):
        super().build(input_shape)
        if self.layer_normalization:
            self.build_norms()

    @property
    def recurrent_kernel(self):
        """$U$, a variable `[output, gates * units]`, if `recurrent_map` holds it as one weight."""
        return self.recurrent_map.kernel

    @recurrent_kernel.setter
    def recurrent_kernel(self, value):
        self.recurrent_kernel.assign(value)

    # In files, a cell whose weights are those of a cell of Keras, and no others, is like that cell.

    def _weights_as_in_keras(self):
        if not self.built:
            return [], []
        parts = [self.kernel_map, self.recurrent_map, *([self.bias_layer] if self.use_bias else [])]
        weights = [weight for part in parts for weight in part.weights]
        is_alike = len(weights) == len(parts) and [id(w) for w in weights] == [id(w) for w in self.weights]
        return (parts, weights) if is_alike and isinstance(self.kernel_map, maps.Full) else ([], [])

    def _hand_over(self, parts, store):
        # Keras's cell would refuse the state of a generator beside the weights.
        states = {f"cell_{name}": state for name, state in self._generators().items()}
        for part in parts:
            hand_over(part, store, states if part is self.kernel_map else {})

    def save_own_variables(self, store):
        parts, weights = self._weights_as_in_keras()
        if not parts:
            return super().save_own_variables(store)
        for k, weight in enumerate(weights):
            store[f"{k}"] = weight
        self._hand_over(parts, store)

    def load_own_variables(self, store):
        parts, weights = self._weights_as_in_keras()
        count = sum(name.isdecimal() for name in list(store.keys()))
        if not (parts and count):
            # The maps and the bias hold the weights.
            return super().load_own_variables(store)
        self._hand_over(parts, store)
        if count != len(weights):
            raise ValueError(
                f"Layer '{self.name}' expected {len(weights)} variables, but received {count} variables during "
                f"loading. Expected: {[weight.path for weight in weights]}"
            )
        values = [store[f"{k}"] for k in range(count)]
        for weight, value in zip(weights, values, strict=True):
            if tuple(weight.shape) != tuple(value.shape):
                raise ValueError(
                    f"Layer '{self.name}' expected a variable '{weight.name}' of shape {tuple(weight.shape)}. "
                    f"Received: a file with shape {tuple(value.shape)}"
                )
        for weight, value in zip(weights, values, strict=True):
            weight.assign(value)

    def build_maps(self):
        """Creates the weights of $W$ and $U$."""
        per_block = self.per_gate_dropout
        self.kernel_map.build_blocks((len(self.gates),), self.input_size, per_block=per_block)
        groups = self.groups or (len(self.gates),)
        self.recurrent_map.build_blocks(groups, self.state_size[0], self.init_groups, per_block)

    def build_norms(self):
        """Creates the layer normalizations of the gates."""
        self.kernel_norm = self.make_norm(len(self.gates) * self.units)
        self.recurrent_norms = [self.make_norm(gates * self.units) for gates in self.recurrent_map.blocks]

    @property
    def noise_sizes(self):
        sizes = super().noise_sizes
        if self.per_gate_dropout:
            blocks = {"dropout": sum(self.kernel_map.blocks), "recurrent_dropout": sum(self.recurrent_map.blocks)}
            sizes = {name: (blocks[name], size) for name, size in sizes.items()}
        return sizes

    def project(self, inputs, run):
        return self.affine(inputs, run)

    def recurrent(self, h, run, group=0):
        """Returns $h U$ for one group of gates, with dropout and layer normalization."""
        product = self._product(self.recurrent_map, h, "recurrent_dropout", run, group)
        return self.recurrent_norms[group](product) if self.recurrent_norms else product

    def step(self, projected, states, run):
        return self.update(projected + self.recurrent(states[0], run), states, run)

    def update(self, a, states, run):
        """Returns `output, states` from the affine parts of the gates, concatenated."""
        raise NotImplementedError
