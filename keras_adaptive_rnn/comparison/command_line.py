"""Compare cells on your data: `python -m keras_adaptive_rnn compare DATA`."""

import pathlib
import time

from keras_adaptive_rnn._command_line import ending, list_files, names
from keras_adaptive_rnn._compare_options import parse


def main(argv=None):
    begun = time.perf_counter()
    args = parse(argv)
    output = args.output or f"compare_{pathlib.Path(args.data).stem}"
    with ending(output):
        comparison = compared(args, output, begun)
        if args.export:
            comparison.export(args.export)
        show(comparison, args.wide)


def compared(args, output, begun):
    # Imported here: what is wrong with the options needs none of it.
    from keras_adaptive_rnn.comparison.candidates import from_command_line
    from keras_adaptive_rnn.comparison.experiment import run, validate_settings
    from keras_adaptive_rnn.comparison.files import read
    from keras_adaptive_rnn.comparison.workers import workers_for
    from keras_adaptive_rnn.one_step.file import check_format

    if args.export:
        # Before anything is trained.
        check_format(args.export)
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
    team = workers_for(args.workers, dask=args.dask, candidates=settings["cells"])
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
        args.missing,
        not args.no_calendar,
        names(args.known),
        args.differences,
        args.folds,
    )
    return run(data, settings, output, begun=begun, team=team)


def show(comparison, wide):
    """Prints the table, the recommendation, the lines in Python and the files."""
    print(comparison.text(wide))
    print(comparison.code)
    list_files(
        comparison.path,
        {
            "the report": "report.html",
            "the best model": "best.keras",
            "the ends of intervals": "quantiles.keras",
            "one step of it, for ONNX": "best_step.onnx",
            "one step of it, for LiteRT": "best_step.tflite",
            "all figures": "results.json",
        },
    )
    if comparison.results["data"]["kind"] != "text":
        print(f"\nFor new data:   python -m keras_adaptive_rnn predict {comparison.path} DATA")
