"""The report: one HTML file, with its pictures inside."""

import jinja2

from keras_rnn_compare.reading.data import describe_source
from keras_rnn_compare.reporting import pictures
from keras_rnn_compare.reporting.columns import COSTS, SCORES
from keras_rnn_compare.rounding import rounded

TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader(__package__), autoescape=True, trim_blocks=True, keep_trailing_newline=True
)


def html(comparison):
    """Returns the report of a `Comparison` as a page that needs no other file and no network."""
    results = comparison.results
    data = results["data"]
    return TEMPLATES.get_template("report.html").render(
        **in_body(comparison),
        results=results,
        cuts=backtests(results),
        read=[*describe_source(data["read"]), *data.get("notes", ())],
        facts=facts(results),
    )


def body(comparison):
    """Returns the recommendation, the table and the pictures as HTML."""
    return TEMPLATES.get_template("body.html").render(**in_body(comparison))


def in_body(comparison):
    names = [row["name"] for row in comparison.results["rows"]]
    kinds = ["winner" if name == comparison.winner else "" for name in names]
    kinds += ["behind"] * len(comparison.results["behind"])
    kinds += ["baseline"] * len(comparison.results["baselines"])
    return {
        "comparison": comparison,
        "tables": [table(comparison, kinds, columns) for columns in (SCORES, COSTS)],
        "pictures": list(pictures.drawn(comparison)),
    }


def table(comparison, kinds, columns):
    """Returns the headings of a table, and the kind and the values of each row, with their headings."""
    headings, rows = comparison.cells(columns)
    return headings, [(kind, list(zip(headings, row, strict=True))) for kind, row in zip(kinds, rows, strict=True)]


def facts(results):
    """Returns what the result was found with, by name."""
    settings, plan, data = results["settings"], results["plan"], results["data"]
    rungs = "; ".join(f"{rung['kept']} rates for {rung['steps']:,} steps" for rung in plan["schedule"]["rungs"])
    return {
        "data": data.get("file", "arrays"),
        "kind": data["kind"],
        **({"a model reads": ", ".join(data["columns"])} if "columns" in data else {}),
        "samples": ", ".join(f"{count:,} for {part}" for part, count in data["samples"].items()),
        "steps of a sequence": f"{data['steps']:,}",
        "made equal": settings["equal"],
        "search": rungs or "none",
        "final training": f"{plan['schedule']['final']['steps']:,} steps of {settings['batch_size']} sequences, "
        f"{settings['seeds']} seeds",
        "budget": f"{settings['minutes']:g} minutes",
        "machine": f"{plan['machine']}; {', '.join(f'{k} {v}' for k, v in plan['versions'].items())}; {plan['date']}",
    }


def backtests(results):
    """Returns the titles and the rows of the test scores after each cut, or `None` if there was one only."""
    if not results["folds"]:
        return None
    titles = {row["name"]: row["title"].partition(" (")[0] for row in results["folds"][-1]["rows"]}
    rows = []
    for fold in results["folds"]:
        scores = {row["name"]: rounded(row["test"]) for row in fold["rows"] if row["test"] is not None}
        rows.append([fold["test"], *(scores.get(name, "") for name in titles)])
    return {"titles": list(titles.values()), "rows": rows}
