"""The report: one HTML file, with its pictures inside."""

import html as escaping

from keras_rnn_compare import pictures
from keras_rnn_compare.data import told

STYLE = """\
:root { color-scheme: light dark; --text: #1c2024; --page: #fff; --line: #dde2e8; --soft: #f2f6fd; --code: #f6f7f9;
  --faint: #5f6873; --accent: #2a6fdb; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7eb; --page: #14171a; --line: #363c43; --soft: #1b2735; --code: #1f2327; --faint: #9aa3ad;
    --accent: #6ea8ff; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: var(--text);
  background: var(--page); overflow-wrap: break-word; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.advice { border-left: .3rem solid var(--accent); background: var(--soft); padding: .8rem 1rem; font-size: 1.1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .35rem .55rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
tr.winner td { background: var(--soft); font-weight: 600; }
tr.baseline td { font-style: italic; }
tr.behind td { color: var(--faint); }
.facts td { text-align: left; white-space: normal; vertical-align: top; }
pre { background: var(--code); padding: 1rem; overflow-x: auto; font-size: .9rem; }
svg { max-width: 100%; min-width: 30rem; height: auto; }
"""


def html(comparison):
    """Returns the report of a `Comparison` as a page that needs no other file and no network."""
    results = comparison.results
    settings, plan, data = results["settings"], results["plan"], results["data"]
    rungs = "; ".join(f"{rung['kept']} rates for {rung['steps']:,} steps" for rung in plan["schedule"]["rungs"])
    facts = {
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
    read = "".join(f"<li>{text(line)}</li>" for line in (*told(data["read"]), *data.get("notes", ())))
    rows = "".join(f"<tr><td>{text(name)}</td><td>{text(value)}</td></tr>" for name, value in facts.items())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Comparison of recurrent cells</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>Which cell for {text(data.get('file', 'these data'))}</h1>\n{body(comparison)}\n"
        f"<h2>The saved model in Python</h2>\n<pre>{text(comparison.code)}</pre>\n"
        f"{backtests(results)}<h2>What was read</h2>\n<ul>{read}</ul>\n"
        f'<h2>How it was found</h2>\n<table class="facts">{rows}</table>\n'
        "<p>All choices, of learning rates, of cells and of the moment to stop, were made on the validation part. A "
        "difference is noise if a t-test, paired over the seeds and over the validation samples, does not tell it from "
        "zero at 95 %. Errors in the table are standard errors over the seeds; cells without one had the first seed "
        "only. Points of a curve may be of fewer validation samples than the final score. Prediction time is per "
        "sequence, in batches; one step is the latency of a single sequence; memory is the most that a training step "
        "holds beyond the libraries.</p>\n</body>\n</html>\n"
    )


def body(comparison):
    """Returns the recommendation, the table and the pictures as HTML."""
    headings, rows = comparison.cells()
    names = [row["name"] for row in comparison.results["rows"]]
    first = len(rows) - len(comparison.results["baselines"])
    lines = []
    for k, row in enumerate(rows):
        winner = k < len(names) and names[k] == comparison.winner
        kind = "baseline" if k >= first else "behind" if k >= len(names) else "winner" if winner else ""
        lines.append(f'<tr class="{kind}">' + "".join(f"<td>{text(value)}</td>" for value in row) + "</tr>")
    head = "".join(f"<th>{text(heading)}</th>" for heading in headings)
    drawn = "".join(
        f'<h2>{title}</h2>\n<div class="wide">{picture}</div>\n' for title, picture in pictures.drawn(comparison)
    )
    notes = "".join(f"<p>{text(note)}</p>\n" for note in comparison.notes)
    return (
        f'<p class="advice">{text(comparison.recommendation)}</p>\n{notes}'
        f'<div class="wide"><table><tr>{head}</tr>\n'
        + "\n".join(lines)
        + "</table></div>\n"
        + (drawn or '<p>For pictures: <code>pip install "keras_rnn_compare[report]"</code></p>')
    )


def backtests(results):
    """Returns the test scores after each cut as a table, if there were several."""
    if not results["folds"]:
        return ""
    rows = {row["name"]: row["title"].partition(" (")[0] for row in results["folds"][-1]["rows"]}
    head = "".join(f"<th>{text(title)}</th>" for title in rows.values())
    lines = []
    for fold in results["folds"]:
        scores = {row["name"]: f"{row['test']:.4g}" for row in fold["rows"] if row["test"] is not None}
        cells = [text(fold["test"]), *(scores.get(name, "") for name in rows)]
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n")
    title = f"Backtests: test {text(results['measure'])} after each cut"
    table = f"<tr><th>test part</th>{head}</tr>\n{''.join(lines)}"
    return f'<h2>{title}</h2>\n<div class="wide"><table>{table}</table></div>\n'


def text(value):
    return escaping.escape(str(value))
