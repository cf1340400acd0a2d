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

# Rooms that others import; the others are grey.
COLORS = {"maps": "#009e73", "engine": "#d55e00", "cells/bases": "#aa4499", "cells": "#b8860b", "loop": "#4b3f9e"}
COLORS |= {"layers": "#882255", "callbacks/unit_variance": "#117733", "models": "#0072b2"}
STARTS = 12
# In inches.
LETTER, LINE, GAP, FLOOR_GAP, LANE, WIDTH = 0.073, 0.175, 0.3, 0.68, 0.06, 10.4


def read(package):
    """Returns the files of each room, the number of imports by pair of rooms, and the longest chain inside a room."""
    paths = {".".join(p.relative_to(package.parent).with_suffix("").parts): p for p in package.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    rooms = {name: path.parent.relative_to(package).as_posix() for name, path in modules.items()}
    files, imports = collections.defaultdict(list), set()
    for name, path in sorted(modules.items()):
        # The package's own `__init__` imports every room to show it to users.
        if path == package / "__init__.py":
            continue
        files[rooms[name]].append(path.stem)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = getattr(node, "module", None)
                named = [f"{module}.{a.name}" if module else a.name for a in node.names]
                found = (n if n in modules else module for n in named)
                imports |= {(name, n) for n in found if n in modules and n != package.name}
    counts = collections.Counter((rooms[a], rooms[b]) for a, b in imports if rooms[a] != rooms[b])
    return files, counts, max(len(chain(name, imports, rooms)) for name in modules)


def chain(name, imports, rooms):
    """Returns the longest chain of files of one room that starts with `name` and in which each imports the next."""
    below = [chain(b, imports, rooms) for a, b in sorted(imports) if a == name and rooms[a] == rooms[b]]
    return [name, *max(below, key=len, default=[])]


def floors_of(rooms, counts):
    """Returns the floor of each room; the ground floor, ".", is 0."""

    def floor(room):
        return max((1 + floor(b) for a, b in counts if a == room), default=int(room != "."))

    return {room: floor(room) for room in rooms}


def letters(room, names):
    """Returns how many letters a line of a room's files has."""
    return 120 if room == "." else max(*map(len, names), round((len("  ".join(names)) * 7) ** 0.5), 15)


class Plan:
    """Where rooms stand, and the lanes in which arrows pass the floors between."""

    def __init__(self, files, counts):
        self.counts = {pair: n for pair, n in counts.items() if pair[1] != "."}
        self.floors = floors_of(files, counts)
        self.rows = [[] for _ in range(max(self.floors.values()) + 1)]
        for room in sorted(files):
            self.rows[self.floors[room]].append((room, room))
        self.lines = {room: textwrap.wrap("  ".join(names), letters(room, names)) for room, names in files.items()}
        # A part of an arrow goes from a room or lane to the one below, all of the same target: `(target, place)`.
        self.parts = set()
        for (_, b), floor in ((p, f) for p in self.counts for f in range(self.floors[p[0]] - 1, self.floors[p[1]], -1)):
            if (b, floor) not in self.rows[floor]:
                self.rows[floor].append((b, floor))
        for a, b in self.counts:
            stops = [(a, a), *((b, f) for f in range(self.floors[a] - 1, self.floors[b], -1)), (b, b)]
            self.parts |= {(b, *pair) for pair in itertools.pairwise(stops)}
        self.x = {}
        self.order()

    def width(self, item):
        lines = [] if item[0] != item[1] else self.lines[item[0]]
        return max([*(len(line) for line in lines), len(item[0]) + 2]) * LETTER + 0.25 if lines else LANE

    def place(self, row):
        free = WIDTH - sum(map(self.width, row))
        gap = min(max(free / (len(row) + 1), 0.12), 4 * GAP)
        left = (WIDTH - sum(map(self.width, row)) - gap * (len(row) - 1)) / 2
        for item in row:
            self.x[item] = left + self.width(item) / 2
            left += self.width(item) + gap

    def cost(self):
        ends = [(t, self.floors[a[0]] if a[0] == a[1] else a[1], self.x[a], self.x[b]) for t, a, b in self.parts]
        crossings = sum(
            p[1] == q[1] and p[0] != q[0] and (p[2] - q[2]) * (p[3] - q[3]) < 0
            for p, q in itertools.combinations(ends, 2)
        )
        return 3 * crossings + sum(abs(a - b) for *_, a, b in ends)

    def order(self):
        """Swaps what stands on a floor while that shortens arrows or spares a crossing, from many first orders."""
        random, found = np.random.default_rng(0), []
        for _ in range(STARTS):
            for row in self.rows:
                random.shuffle(row)
                self.place(row)
            best, better = self.cost(), True
            while better:
                better = False
                for row in self.rows:
                    for pair in itertools.combinations(range(len(row)), 2):
                        if (cost := self.swap(row, *pair)) < best - 1e-9:
                            best, better = cost, True
                        else:
                            self.swap(row, *pair)
            found.append((best, [list(row) for row in self.rows]))
        self.rows = min(found, key=lambda each: each[0])[1]
        for row in self.rows:
            self.place(row)

    def swap(self, row, i, j):
        row[i], row[j] = row[j], row[i]
        self.place(row)
        return self.cost()


def draw(files, counts, path):
    plan = Plan(files, counts)
    heights = [max((len(plan.lines[a]) for a, b in row if a == b), default=0) * LINE + 0.42 for row in plan.rows]
    below = list(itertools.accumulate([h + FLOOR_GAP for h in heights], initial=0))
    figure = plt.figure(figsize=(WIDTH, below[-1] - FLOOR_GAP + 0.1))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(-0.05, below[-1] - FLOOR_GAP + 0.05))
    axes.axis("off")
    color = {room: COLORS.get(room, "#555555") for room in files}
    to_ground = sum(n for (_, b), n in counts.items() if b == ".")

    def ports(item):
        """Where the arrows leave a room."""
        leaving = sorted((plan.x[b], t) for t, a, b in plan.parts if a == item)
        step = min(0.42, (plan.width(item) - 0.3) / max(len(leaving) - 1, 1))
        return {t: plan.x[item] + (k - (len(leaving) - 1) / 2) * step for k, (_, t) in enumerate(leaving)}

    for target, a, b in sorted(plan.parts, key=str):
        of_room = a[0] == a[1]
        floor = plan.floors[a[0]] if of_room else a[1]
        x0, y0 = ports(a)[target] if of_room else plan.x[a], below[floor]
        x1, y1 = plan.x[b], below[floor - 1] + heights[floor - 1]
        middle = (y0 + y1) / 2
        style = {"color": color[target], "lw": 1.3, "fill": False, "capstyle": "butt"}
        codes = [Path.MOVETO, *[Path.CURVE4] * 3]
        axes.add_patch(PathPatch(Path([(x0, y0), (x0, middle), (x1, middle), (x1, y1)], codes), **style))
        if b[0] == b[1]:
            axes.plot(x1, y1 + 0.04, marker="v", ms=6, color=color[target])
        else:
            axes.plot([x1, x1], [y1, below[floor - 1]], color=color[target], lw=1.3)
        if of_room:
            box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"}
            text = {"color": color[target], "size": 8, "weight": "bold", "ha": "center", "va": "center", "zorder": 4}
            axes.text(x0, y0 - 0.13, plan.counts[a[0], target], bbox=box, **text)

    for room, floor in plan.floors.items():
        x, y = plan.x[room, room], below[floor]
        width = WIDTH - 0.2 if room == "." else plan.width((room, room))
        style = {"boxstyle": "round,pad=0,rounding_size=0.06", "ec": color[room], "lw": 1.2, "zorder": 3}
        corner = (x - width / 2, y)
        axes.add_patch(FancyBboxPatch(corner, width, heights[floor], fc="white", **style))
        axes.add_patch(FancyBboxPatch(corner, width, heights[floor], fc=color[room], alpha=0.1, **style))
        top = y + heights[floor]
        title = f"the package itself, imported from the rooms above {to_ground} times" if room == "." else f"{room}/"
        text = {"ha": "center", "va": "top", "zorder": 5}
        axes.text(x, top - 0.08, title, size=10.5, weight="bold", color=color[room], **text)
        axes.text(x, top - 0.31, "\n".join(plan.lines[room]), size=8.5, linespacing=1.25, **text)
    figure.savefig(path, dpi=160)
    return plan


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    files, counts, longest = read(pathlib.Path(sys.argv[1]))
    plan = draw(files, counts, sys.argv[2])
    sizes = [len(names) for names in files.values()]
    print(f"{sum(sizes)} files, {len(sizes)} rooms, {len(plan.rows)} floors, largest room {max(sizes)} files")
    print(f"above the ground floor: {len(plan.counts)} arrows, {sum(plan.counts.values())} imports between rooms")
    print(f"longest chain of imports inside a room: {longest} files")
