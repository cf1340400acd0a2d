"""Loading PyTorch's `state_dict` of one layer into another that is built like it."""

import collections
import re


class StateDictByPosition:
    """Mixin of a layer that, as a `torch.nn.Module`, loads the `state_dict` of any layer built like it.

    In each module, Keras lists the variables of all layers inside it by their paths, which hold counters such as
    `mogrifier_cell_3` that differ between two layers. The place of a variable does not: the innermost module that lists
    it, its own name, and its rank among those of this name, by counters (PyTorch puts `cell_10` before `cell_9`).
    """

    def _load_from_state_dict(self, state_dict, prefix, *args):
        # PyTorch calls this before it loads the modules inside, so that a subclass may rename keys.
        received = {key: value for key, value in state_dict.items() if key.startswith(prefix)}
        expected = self.state_dict(prefix=prefix, keep_vars=True)
        if expected.keys() != received.keys():
            by_place = {place: received[key] for key, place in _places(received).items()}
            places = _places(expected)
            if by_place.keys() == set(places.values()):
                for key in received:
                    del state_dict[key]
                state_dict.update({key: by_place[place] for key, place in places.items()})
        super()._load_from_state_dict(state_dict, prefix, *args)


def _places(state_dict):
    """Returns the place of the variable of each key."""
    split = {key: key.rpartition("_torch_params.")[::2] for key in state_dict}
    modules = collections.defaultdict(list)
    for module, path in split.values():
        modules[path].append(module)
    innermost = {
        key: (max((name for name in modules[path] if name.startswith(module)), key=len), path)
        for key, (module, path) in split.items()
    }
    places, counts = {}, collections.Counter()
    for module, path in sorted(set(innermost.values()), key=lambda pair: _by_counters(pair[1])):
        name = path.rsplit("/", 1)[-1]
        places[module, path] = module, name, counts[module, name]
        counts[module, name] += 1
    return {key: places[pair] for key, pair in innermost.items()}


def _by_counters(path):
    """Returns a sort key by which `cell`, `cell_9` and `cell_10` are in order."""
    return [(name, int(counter or 0)) for name, counter in re.findall(r"(.*?)(?:_(\d+))?(?:/|$)", path)]
