"""Draws the folders of a package as rooms, in floors by dependency, and the imports between them as arrows.

    python tools/draw_rooms.py keras_adaptive_rnn docs/images/rooms.png

A room stands one floor above the highest room that it imports. The files beside the package's `__init__.py`, which
every room may import, are the ground floor. A number beside an arrow counts imports of one file by another.
"""

import ast
import collections
import itertools
import pathlib
import sys
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

GROUND = "."
# Rooms that others import; the others are grey.
COLORS = {"maps": "#009e73", "engine": "#d55e00", "cells/bases": "#aa4499", "cells": "#b8860b", "loop": "#4b3f9e"}
COLORS |= {"layers": "#882255", "callbacks/unit_variance": "#117733", "models": "#0072b2"}
# In inches.
LETTER, LINE, TITLE, FLOOR_GAP, LANE, WIDTH = 0.073, 0.175, 0.42, 0.68, 0.06, 11.4
STARTS = 12


def read(package):
    """Returns the files of each room, the number of imports by pair of rooms, and the longest chain inside a room."""
    modules = {".".join(p.relative_to(package.parent).with_suffix("").parts): p for p in package.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in sorted(modules.items())}
    # The package's own `__init__` imports every room to show it to users, and its `__main__` to run a command.
    doors = (package.name, f"{package.name}.__main__")
    trees = {name: ast.parse(path.read_text()) for name, path in modules.items() if name not in doors}
    rooms = {name: modules[name].parent.relative_to(package).as_posix() for name in trees}
    imports = collections.defaultdict(set)
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = getattr(node, "module", None)
                named = [f"{module}.{a.name}" if module else a.name for a in node.names]
                imports[name] |= {n if n in rooms else module for n in named} & set(rooms)
    files = collections.defaultdict(list)
    for name in rooms:
        files[rooms[name]].append(modules[name].stem)
    counts = collections.Counter((rooms[a], rooms[b]) for a in rooms for b in imports[a] if rooms[a] != rooms[b])

    def chain(a):
        return 1 + max((chain(b) for b in imports[a] if rooms[b] == rooms[a]), default=0)

    return files, counts, max(map(chain, rooms))


class Plan:
    """Where rooms stand, and the lanes in which arrows pass the floors between.

    A place is `(room, floor)`: the room itself on its own floor, a lane of the arrows to it on the floors above.
    """

    def __init__(self, files, counts):
        self.counts = {pair: n for pair, n in counts.items() if GROUND not in pair}
        self.floors = {room: self.floor(room, counts) for room in sorted(files)}
        self.lines = {}
        for room, names in files.items():
            letters = 120 if room == GROUND else max(15, *map(len, names), round((len("  ".join(names)) * 7) ** 0.5))
            self.lines[room] = textwrap.wrap("  ".join(names), letters)
        # Parts of arrows, each from a place to one on the floor below.
        self.parts = set()
        for a, b in self.counts:
            stops = [(a, self.floors[a]), *((b, f) for f in reversed(range(self.floors[b], self.floors[a])))]
            self.parts |= set(itertools.pairwise(stops))
        places = {*self.floors.items(), *(below for _, below in self.parts)}
        self.rows = [sorted(p for p in places if p[1] == floor) for floor in range(1 + max(self.floors.values()))]
        self.x = {}
        self.order()

    def floor(self, room, counts):
        return max((1 + self.floor(b, counts) for a, b in counts if a == room), default=int(room != GROUND))

    def is_room(self, place):
        return self.floors[place[0]] == place[1]

    def width(self, place):
        if not self.is_room(place):
            return LANE
        return max(len(place[0]) + 2, *map(len, self.lines[place[0]])) * LETTER + 0.25

    def set_row(self, row):
        widths = [self.width(place) for place in row]
        gap = min(max((WIDTH - sum(widths)) / (len(row) + 1), 0.12), 1.2)
        left = (WIDTH - sum(widths) - gap * (len(row) - 1)) / 2
        for place, width in zip(row, widths, strict=True):
            self.x[place] = left + width / 2
            left += width + gap

    def set_rows(self):
        for row in self.rows:
            self.set_row(row)
        return self.cost()

    def cost(self):
        """Returns the length of all arrows, and three inches for each crossing."""
        ends = [(a[1], b[0], self.x[a], self.x[b]) for a, b in self.parts]
        crossings = sum(
            p[0] == q[0] and p[1] != q[1] and (p[2] - q[2]) * (p[3] - q[3]) < 0
            for p, q in itertools.combinations(ends, 2)
        )
        return 3 * crossings + sum(abs(x0 - x1) for *_, x0, x1 in ends)

    def order(self):
        """Swaps places on a floor while that costs less, from several first orders, and keeps the best."""
        random, found = np.random.default_rng(0), []
        for _ in range(STARTS):
            self.rows = [[row[k] for k in random.permutation(len(row))] for row in self.rows]
            cost, before = self.set_rows(), None
            while cost != before:
                before = cost
                for row in self.rows:
                    for i, j in itertools.combinations(range(len(row)), 2):
                        swapped = self.swap(row, i, j)
                        cost = swapped if swapped < cost - 1e-9 else self.swap(row, i, j)
            found.append((cost, self.rows))
        self.rows = min(found, key=lambda each: each[0])[1]
        self.set_rows()

    def swap(self, row, i, j):
        row[i], row[j] = row[j], row[i]
        self.set_row(row)
        return self.cost()

    def ports(self, place):
        """Returns where the arrows to each room leave a place."""
        if not self.is_room(place):
            return {place[0]: self.x[place]}
        leaving = [b for _, b in sorted((self.x[b], b[0]) for a, b in self.parts if a == place)]
        step = min(0.42, (self.width(place) - 0.3) / max(len(leaving) - 1, 1))
        return {room: self.x[place] + (k - (len(leaving) - 1) / 2) * step for k, room in enumerate(leaving)}


def draw(plan, title_of_ground, path):
    heights = [
        max((len(plan.lines[p[0]]) for p in row if plan.is_room(p)), default=0) * LINE + TITLE for row in plan.rows
    ]
    bottoms = list(itertools.accumulate([h + FLOOR_GAP for h in heights], initial=0))
    top = bottoms[-1] - FLOOR_GAP + 0.05
    axes = plt.figure(figsize=(WIDTH, top + 0.05)).add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(-0.05, top))
    axes.axis("off")
    for a, b in sorted(plan.parts):
        color = COLORS.get(b[0], "#555555")
        x0, y0, x1, y1 = plan.ports(a)[b[0]], bottoms[a[1]], plan.x[b], bottoms[b[1]] + heights[b[1]]
        curve = Path([(x0, y0), (x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)], [Path.MOVETO, *[Path.CURVE4] * 3])
        axes.add_patch(PathPatch(curve, color=color, lw=1.3, fill=False, capstyle="butt"))
        if plan.is_room(b):
            axes.plot(x1, y1 + 0.04, marker="v", ms=6, color=color)
        else:
            axes.plot([x1, x1], [y1, bottoms[b[1]]], color=color, lw=1.3)
        if plan.is_room(a):
            box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"}
            text = {"size": 8, "weight": "bold", "ha": "center", "va": "center", "zorder": 4, "bbox": box}
            axes.text(x0, y0 - 0.13, plan.counts[a[0], b[0]], color=color, **text)
    for room, floor in plan.floors.items():
        color, x, y = COLORS.get(room, "#555555"), plan.x[room, floor], bottoms[floor]
        width = WIDTH - 0.2 if room == GROUND else plan.width((room, floor))
        for fill in ({"fc": "white"}, {"fc": color, "alpha": 0.1}, {"fc": "none"}):
            style = {"boxstyle": "round,pad=0,rounding_size=0.06", "ec": color, "lw": 1.2, "zorder": 3, **fill}
            axes.add_patch(FancyBboxPatch((x - width / 2, y), width, heights[floor], **style))
        text = {"ha": "center", "va": "top", "zorder": 5}
        title = title_of_ground if room == GROUND else f"{room}/"
        axes.text(x, y + heights[floor] - 0.08, title, size=10.5, weight="bold", color=color, **text)
        axes.text(x, y + heights[floor] - 0.31, "\n".join(plan.lines[room]), size=8.5, linespacing=1.25, **text)
    plt.savefig(path, dpi=160)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    files, counts, longest = read(pathlib.Path(sys.argv[1]))
    plan = Plan(files, counts)
    to_ground = sum(n for (_, b), n in counts.items() if b == GROUND)
    draw(plan, f"the package itself, imported from the rooms above {to_ground} times", sys.argv[2])
    sizes = [len(names) for names in files.values()]
    print(f"{sum(sizes)} files, {len(sizes)} rooms, {len(plan.rows)} floors, largest room {max(sizes)} files")
    print(f"above the ground floor: {len(plan.counts)} arrows, {sum(plan.counts.values())} imports between rooms")
    print(f"longest chain of imports inside a room: {longest} files")
