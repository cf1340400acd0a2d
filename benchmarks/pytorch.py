"""What a PyTorch user has without Keras: a loop in Python, `torch.nn.LSTM`, torchrecurrent and FlashRNN."""

import torch
from torch import nn

try:
    import torchrecurrent
except ImportError:
    torchrecurrent = None
    print("torchrecurrent is not installed: its MultiplicativeLSTM is left out")

try:
    import flashrnn
except ImportError:
    flashrnn = None

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Mogrifier(nn.Module):
    """The Mogrifier LSTM, as it is written down."""

    def __init__(self, inputs, units, rounds=5, rank=64):
        super().__init__()
        self.units = units
        self.core = nn.LSTMCell(inputs, units)
        self.gates = nn.ModuleList()
        for i in range(rounds):
            read, gated = (inputs, units) if i % 2 else (units, inputs)
            factors = nn.Linear(read, min(rank, units), bias=False), nn.Linear(min(rank, units), gated, bias=False)
            self.gates.append(nn.Sequential(*factors))

    def forward(self, sequences):
        h = c = sequences.new_zeros(len(sequences), self.units)
        outputs = []
        for x in sequences.unbind(1):
            for i, gate in enumerate(self.gates):
                if i % 2:
                    h = 2 * torch.sigmoid(gate(x)) * h
                else:
                    x = 2 * torch.sigmoid(gate(h)) * x
            h, c = self.core(x, (h, c))
            outputs.append(h)
        return torch.stack(outputs, 1)


class AdaptiveLSTM(nn.Module):
    """The adaptive LSTM with a recurrent policy and IO-adaptation, as it is written down."""

    def __init__(self, inputs, units, policy_units=100):
        super().__init__()
        self.units, self.policy_units = units, policy_units
        self.sizes = [inputs, units, 4 * units, 4 * units, 4 * units]
        self.kernel = nn.Linear(inputs, 4 * units, bias=False)
        self.recurrent = nn.Linear(units, 4 * units, bias=False)
        self.policy = nn.LSTMCell(inputs + units, policy_units)
        self.sub_policies = nn.Linear(policy_units, sum(self.sizes), bias=False)
        self.bias = nn.Parameter(torch.zeros(4 * units))

    def forward(self, sequences):
        h = c = sequences.new_zeros(len(sequences), self.units)
        latent = memory = sequences.new_zeros(len(sequences), self.policy_units)
        outputs = []
        for x in sequences.unbind(1):
            latent, memory = self.policy(torch.cat([x, h], -1), (latent, memory))
            x1, h1, x2, h2, b = torch.tanh(self.sub_policies(latent)).split(self.sizes, -1)
            i, f, g, o = (x2 * self.kernel(x1 * x) + h2 * self.recurrent(h1 * h) + b * self.bias).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, 1)


class FlashRNN(nn.Module):
    """A layer in one kernel for all steps, with the products of the inputs before it."""

    def __init__(self, function, inputs, units, backend):
        super().__init__()
        self.options = {"function": function, "backend": backend, "dtype": "float32"}
        by_inputs, by_states, biases = FLASHRNN_GATES[function]
        self.kernel = nn.Linear(inputs, by_inputs * units, bias=False)
        self.recurrent = nn.Linear(units, by_states * units, bias=False)
        self.bias = nn.Parameter(torch.zeros(biases * units))
        self.heads = 1, units

    def forward(self, sequences):
        recurrent = self.recurrent.weight.unflatten(0, (-1, *self.heads))
        projected = self.kernel(sequences).unflatten(-1, (-1, *self.heads))
        states, _ = flashrnn.flashrnn(projected, recurrent, self.bias.unflatten(0, (-1, *self.heads)), **self.options)
        return states[0].flatten(2)


# How many gates read the inputs, and how many the states, and how many biases there are.
FLASHRNN_GATES = {"lstm": (4, 4, 4), "gru": (3, 3, 4), "slstm": (4, 4, 4), "elman": (1, 1, 1)}
FLASHRNN_BACKENDS = {"cuda": ("cuda_fused", "triton_fused"), "cpu": ("vanilla",)}
PLAIN = {"Mogrifier": Mogrifier, "AdaptiveLSTM": AdaptiveLSTM}


def contenders(cell, x, y, weights):
    """Returns functions that make PyTorch's contenders for one of our cells, with its weights where they fit."""
    inputs, units = x.shape[-1], y.shape[-1]

    def lstm():
        module = nn.LSTM(inputs, units, batch_first=True)
        return actions(copy(weights, module) if cell == "LSTM" else module, x, y)

    found = {"torch_lstm": lstm}
    if cell in PLAIN:
        found["plain"] = lambda: actions(copy(weights, PLAIN[cell](inputs, units)), x, y)
    if cell.lower() in FLASHRNN_GATES and flashrnn:
        found["flashrnn"] = lambda: first_that_runs(cell.lower(), x, y, weights)
    if cell == "MultiplicativeLSTM" and torchrecurrent:
        made = torchrecurrent.MultiplicativeLSTM(inputs, units, batch_first=True)
        found["torchrecurrent"] = lambda: actions(made, x, y)
    return found


def first_that_runs(function, x, y, weights):
    """Returns the actions of FlashRNN in the first of its backends that runs here, or `None`."""
    for backend in FLASHRNN_BACKENDS[DEVICE]:
        modules = [FlashRNN(function, x.shape[-1], y.shape[-1], backend) for _ in range(2)]
        tried, made = (actions(copy(weights, each) if function == "lstm" else each, x, y) for each in modules)
        try:
            tried["train"]()
        except Exception as error:  # It compiles for the GPU that it finds, and not for every size.
            print(f"FlashRNN, {function}, {backend}: {error}")
        else:
            return made
    return None


def copy(weights, module):
    """Gives a module the weights of our cell, whose matrices are the other way round; returns the module."""
    weights = iter(weights)
    # PyTorch names a module's own parameters before those of its parts, and its LSTM has a second bias.
    for name, parameter in sorted(module.named_parameters(), key=lambda item: item[0] == "bias"):
        if "bias_hh" in name:
            nn.init.zeros_(parameter)
        else:
            parameter.data = torch.tensor(next(weights).T.copy())
    return module


def actions(module, x, y):
    """Returns a train step and a prediction of `module`, as `benchmarks.contenders.contenders` says."""
    module.to(DEVICE)
    optimizer = torch.optim.Adam(module.parameters())

    def outputs():
        result = module(torch.from_numpy(x).to(DEVICE))
        return result[0] if isinstance(result, tuple) else result

    def train():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(outputs(), torch.from_numpy(y).to(DEVICE))
        loss.backward()
        optimizer.step()
        return loss.item()

    def predict():
        with torch.no_grad():
            return outputs().numpy(force=True)

    return {"train": train, "predict": predict}
