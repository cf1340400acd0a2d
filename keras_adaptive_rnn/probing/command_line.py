"""Probe cells: `python -m keras_adaptive_rnn probe [CELL ...]`."""

from keras_adaptive_rnn._command_line import ending, list_files, names
from keras_adaptive_rnn._probe_options import parse


def main(argv=None):
    args = parse(argv)
    output = args.output or "_".join(["probe", *(name.rpartition(":")[2] for name in args.cells)])
    with ending(output):
        found = probed(args, output)
        print(found)
        list_files(found.path, {"the picture": "probe.png", "the table": "table.md", "all figures": "results.json"})


def probed(args, output):
    # Imported here: `--help` needs none of it.
    from keras_adaptive_rnn.comparison.candidates import from_command_line
    from keras_adaptive_rnn.probing.experiment import probe

    return probe(
        from_command_line(args.cells),
        tasks=names(args.tasks),
        weights=args.weights,
        length=args.length,
        updates=args.updates,
        rates=args.rates,
        seeds=args.seeds,
        seed=args.seed,
        output=output,
    )
