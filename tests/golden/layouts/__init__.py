"""For each system of the golden files, the cell that computes it and where each array goes in its weights."""

from tests.golden.layouts import adaptive, cores, deciding, feed_forward, mogrifier

LAYOUTS = {
    "alstm": adaptive.alstm,
    "arnn": adaptive.arnn,
    "awd": cores.weight_drop,
    "baseline": cores.baseline,
    "bipolar": feed_forward.bipolar,
    "deep_rnn": cores.deep_rnn,
    "highway": feed_forward.highway,
    "lowrank": cores.low_rank,
    "lstm": mogrifier.lstm,
    "mlstm": mogrifier.mlstm,
    "mogrifier": mogrifier.mogrifier,
    "rhn": cores.recurrent_highway,
    "skip_rnn": deciding.skip,
    "stack": mogrifier.stack,
}
# Systems whose layers are no cells.
FEED_FORWARD = {"bipolar", "highway"}
