"""Compare cells on your data: `python -m keras_adaptive_rnn compare DATA`."""

import pathlib

from keras_adaptive_rnn._command_line import ending, list_files, names
from keras_adaptive_rnn._compare_options import parse


def main(argv=None):
    args = parse(argv)
    output = args.output or f"compare_{pathlib.Path(args.data).stem}"
    with ending(output):
        comparison = compared(args, output)
    show(comparison)


def compared(args, output):
    # Imported here: `--help` needs none of it.
    from keras_adaptive_rnn.comparison.candidates import from_command_line
    from keras_adaptive_rnn.comparison.experiment import run, validate_settings
    from keras_adaptive_rnn.comparison.files import read

    settings = validate_settings(
        cells=from_command_line(names(args.cells)),
        weights=args.weights,
        equal=args.equal,
        minutes=args.minutes,
        trials=args.trials,
        seeds=args.seeds,
        depth=args.depth,
        batch_size=args.batch,
        memory=not args.no_memory,
        seed=args.seed,
    )
    data = read(
        args.data,
        args.target,
        args.time,
        args.group,
        args.task,
        names(args.columns),
        args.steps,
        args.horizon,
        args.split,
        args.seed,
        args.decimal,
    )
    return run(data, settings, output)


def show(comparison):
    """Prints the table, the recommendation and the files."""
    from rich.console import Console
    from rich.table import Table

    headings, rows = comparison.cells()
    console = Console()
    if console.is_terminal:
        table = Table()
        for k, heading in enumerate(headings):
            table.add_column(heading, justify="left" if k == 0 else "right")
        for k, row in enumerate(rows):
            table.add_row(*row, style="bold" if k == 0 else "dim" if k >= len(comparison.results["rows"]) else None)
        console.print(table)
        print(f"\n{comparison.recommendation}\n")
    else:
        print(comparison)
    print(comparison.code)
    list_files(
        comparison.path,
        {"the report": "report.html", "the best model": "best.keras", "all figures": "results.json"},
    )
