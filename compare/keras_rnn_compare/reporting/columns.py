"""The columns of the table of a comparison."""

# The columns of the table: what it calls a figure of `table`, and its format or its significant digits.
COLUMNS = {
    "cell": ("cell", ""),
    "validation": ("validation", 4),
    "test": ("test", 4),
    "accuracy": ("test accuracy", ".1%"),
    "balanced accuracy": ("balanced accuracy", ".1%"),
    "calibration error": ("calibration error", ".3f"),
    "MAE": ("MAE", 4),
    "MASE": ("MASE", ".3f"),
    "skill": ("skill", ".3f"),
    "pinball": ("pinball loss", 4),
    "coverage 80 %": ("coverage 80 %", ".1%"),
    "coverage 95 %": ("coverage 95 %", ".1%"),
    "training, s": ("training, s", ".1f"),
    "step, ms": ("step, ms", 3),
    "predict, ms": ("prediction, ms a sequence", ".2f"),
    "one step, ms": ("one step, ms", ".2f"),
    "memory, MB": ("training memory, MB", ".0f"),
    "units": ("units", ""),
    "weights": ("weights", ","),
    "rate": ("learning rate", "g"),
    "seeds": ("seeds", ""),
}
# The tables of the report: scores, then costs and sizes.
SCORES = list(COLUMNS)[: list(COLUMNS).index("training, s")]
COSTS = ["cell", *list(COLUMNS)[len(SCORES) :]]
# What fits 80 characters.
NARROW = ["cell", "validation", "test", "accuracy", "training, s", "step, ms"]
