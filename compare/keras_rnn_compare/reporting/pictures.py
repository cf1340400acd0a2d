"""The pictures of the report, as SVG: matplotlib draws them, and the page gives text and axes its own color."""

import importlib.util
import io

import numpy as np

# What is drawn in this color has that of the text around it, on a light page and on a dark one.
INK = "#012345"
STYLE = {
    "svg.hashsalt": "the same file every time",
    "savefig.transparent": True,
    "legend.framealpha": 0,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}
# Inches: so narrow that a phone shows it with legible text.
WIDTH = 5
# Bins of a calibration with fewer predictions tell little; and axes show such a share of what they are about at least.
SPARSE, LEAST_SPAN = 10, 0.2


def drawn(comparison):
    """Yields the title and the SVG of each picture that a `Comparison` has; none without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return
    import matplotlib

    results = comparison.results
    made = {"Learning curves": learning_curves(results)}
    if results["forecast"]:
        made["Forecasts of the last rows"] = last_forecasts(results)
        made["Errors"] = errors(results)
    if "calibration" in results["figures"]:
        made["Classes"] = classes(results)
    made["Quality and cost"] = costs(results)
    for title, draw in made.items():
        if draw is None:
            continue
        with matplotlib.rc_context(STYLE):
            yield title, svg(draw)


def svg(draw):
    """Returns the picture that a function draws into a figure of matplotlib."""
    from matplotlib.figure import Figure

    figure, file = Figure(layout="constrained"), io.StringIO()
    draw(figure)
    # Names may hold what would be mathematics.
    for label in figure.findobj(lambda artist: hasattr(artist, "set_parse_math")):
        label.set_parse_math(False)
    figure.savefig(file, format="svg", metadata={"Date": None})
    content = file.getvalue()
    return content[content.index("<svg") :].replace(INK, "currentColor")


def colors():
    import matplotlib

    return matplotlib.colormaps["tab10"].colors


def learning_curves(results):
    """Draws the mean over the seeds, and a band from least to most."""

    def draw(figure):
        rows = [*results["rows"], *results["behind"]]
        figure.set_size_inches(WIDTH, 3.4 + 0.09 * len(rows))
        axes = figure.subplots()
        for k, row in enumerate(rows):
            color, seeds = colors()[k % len(colors())], len(row["curves"])
            steps, means, lowest, highest = zip(*row["band"], strict=True) if row["band"] else ((), (), (), ())
            label = row["title"] if seeds > 1 else f"{row['title']} (one seed)"
            axes.plot(steps, means, "-" if k < len(colors()) else "--", color=color, label=label)
            axes.fill_between(steps, lowest, highest, color=color, alpha=0.15, lw=0)
        best, (low, high) = results["baselines"][0], axes.get_ylim()
        if 2 * low - high < best["validation_mean"] < 2 * high - low:
            # Farther away, it would press the curves together.
            axes.axhline(best["validation_mean"], color="0.5", ls=":", label=best["title"].partition(" (")[0])
        axes.set(xlabel="training steps", ylabel=f"validation {results['measure']}")
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)

    return draw


def last_forecasts(results):
    """Draws what the saved model forecast for the last rows of the test part, with intervals, and the truth."""
    shown = results["forecast"]

    def draw(figure):
        figure.set_size_inches(WIDTH, 3.2)
        axes = figure.subplots()
        is_dated = isinstance(shown["time"][0], str)
        time = np.array(shown["time"], "datetime64[s]") if is_dated else np.array(shown["time"])
        for level, alpha in (("95", 0.15), ("80", 0.3)):
            if f"lower {level}" in shown:
                ends = (shown[f"{end} {level}"] for end in ("lower", "upper"))
                axes.fill_between(time, *ends, color=colors()[0], alpha=alpha, lw=0, label=f"{level} %")
        axes.plot(time, shown["forecast"], color=colors()[0], label="forecast")
        axes.plot(time, shown["truth"], color=INK, lw=1, label="truth")
        if shown["horizon"] > 1:
            # Where a new forecast begins.
            axes.plot(time[:: shown["horizon"]], shown["forecast"][:: shown["horizon"]], "o", color=colors()[0], ms=3)
        series = "" if shown["series"] is None else f" of {shown['series']}"
        axes.set(ylabel=f"{results['data']['target']}{series}")
        if is_dated:
            axes.tick_params(axis="x", rotation=20)
        else:
            axes.set_xlabel(results["data"]["time"] or "row")
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", fontsize=8, ncols=4)

    return draw


def errors(results):
    """Draws the test RMSE by horizon and by hour, of the cell to take and of the baselines; or returns `None`.

    Of the latter, there are the best one and seasonal naive, or the last value.
    """
    baselines = results["baselines"]
    kept = [row for row in results["rows"] if row["name"] == results["winner"]]
    kept += [row for row in baselines if row is baselines[0] or row["name"] in ("seasonal", "last_value")]
    panels = [("by horizon", "row of the horizon", 1)] if results["forecast"]["horizon"] > 1 else []
    panels += [("by hour", "hour of the day", 0)] if kept[0]["figures"]["by hour"] else []
    if not panels:
        return None

    def draw(figure):
        figure.set_size_inches(WIDTH, 3 * len(panels))
        drawn_in = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axes, (name, label, first) in zip(drawn_in, panels, strict=True):
            for k, row in enumerate(kept):
                values = [np.nan if value is None else value for value in row["figures"][name]]
                rows, title = first + np.arange(len(values)), row["title"].partition(" (")[0]
                axes.plot(rows, values, ".-", color=colors()[k], label=title)
            axes.set(xlabel=label, ylabel="test RMSE", ylim=(0, None))
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)

    return draw


def classes(results):
    """Draws the confusion matrix of the saved model on the test part, and how well its probabilities hold."""
    figures = results["figures"]
    names = [str(name) for name in results["data"].get("classes", ())]

    def draw(figure):
        panels = figure.subplots(2 if "confusion" in figures else 1, 1, squeeze=False)[:, 0]
        figure.set_size_inches(WIDTH, 3.6 * len(panels))
        bins = np.array(figures["calibration"])
        count, certain, right = bins.T
        panels[-1].plot([0, 1], [0, 1], ":", color="0.5")
        panels[-1].plot(*bins[count >= SPARSE, 1:].T, "o-", color=colors()[0])
        panels[-1].plot(*bins[count < SPARSE, 1:].T, "o", color="0.7")
        for x, y, each in zip(certain, right, count.astype(int), strict=True):
            panels[-1].annotate(str(each), (x, y), textcoords="offset points", xytext=(4, -10), fontsize=7)
        panels[-1].set(xlabel="mean probability of the predicted class", ylabel="accuracy", ylim=(0, 1.05))
        panels[-1].grid(alpha=0.3)
        if "confusion" in figures:
            confusion = np.array(figures["confusion"])
            shares = confusion / np.maximum(1, confusion.sum(axis=1, keepdims=True))
            panels[0].imshow(shares, cmap="Blues", vmin=0, vmax=1)
            for row, column in np.argwhere(confusion > 0) if len(confusion) <= 12 else ():
                dark = shares[row, column] > 0.5
                text = f"{confusion[row, column]:,}"
                panels[0].text(column, row, text, ha="center", va="center", fontsize=8, color="w" if dark else "k")
            panels[0].set(xlabel="predicted", ylabel="true class")
            if names and len(names) == len(confusion) <= 12:
                panels[0].set_xticks(range(len(names)), names, rotation=45, ha="right")
                panels[0].set_yticks(range(len(names)), names)

    return draw


def widened(low, high):
    """Returns the ends of an axis that shows a fifth of its middle at least."""
    middle = (low + high) / 2
    half = max((high - low) / 2, LEAST_SPAN / 2 * abs(middle))
    return middle - half, middle + half


def costs(results):
    """Draws the score over the time of a training step, and over the weights where these differ."""
    rows = [*results["rows"], *results["behind"]]
    panels = {"training step, ms": [1000 * row["step"] for row in rows]}
    weights = [row["weights"] for row in rows]
    if max(weights) > 1.05 * min(weights):
        panels["weights"] = weights

    def draw(figure):
        figure.set_size_inches(WIDTH, 3.3 * len(panels))
        drawn_in = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axes, (label, x) in zip(drawn_in, panels.items(), strict=True):
            for k, (at, row) in enumerate(zip(x, rows, strict=True)):
                if row["validation_mean"] is not None:
                    color, error = colors()[k % len(colors())], row["validation_error"] or 0
                    axes.errorbar(at, row["validation_mean"], error, fmt="o", color=color)
                    axes.annotate(
                        row["title"],
                        (at, row["validation_mean"]),
                        textcoords="offset points",
                        xytext=(5, 4),
                        fontsize=8,
                    )
            axes.margins(x=0.2)
            # A difference of one percent is to look like one.
            axes.set_xlim(0, None)
            axes.set_ylim(*widened(*axes.get_ylim()))
            axes.set(xlabel=label, ylabel=f"validation {results['measure']}")
            axes.grid(alpha=0.3)

    return draw
