"""For each system of the golden files, the cell that computes it and where each array goes in its weights."""

from tests.golden.layouts import adaptive, cores, deciding, feed_forward, linear, mogrifier

LAYOUTS = {
    "alstm": adaptive.alstm,
    "arnn": adaptive.arnn,
    "awd": cores.weight_drop,
    "baseline": cores.baseline,
    "bipolar": feed_forward.bipolar,
    "deep_rnn": cores.deep_rnn,
    "gated_delta_net": linear.gated_delta_net,
    "highway": feed_forward.highway,
    "lowrank": cores.low_rank,
    "lstm": mogrifier.lstm,
    "mlstm": mogrifier.mlstm,
    "mogrifier": mogrifier.mogrifier,
    "rg_lru": linear.rg_lru,
    "rhn": cores.recurrent_highway,
    "skip_rnn": deciding.skip,
    "stack": mogrifier.stack,
    "xlstm_mlstm": linear.mlstm,
    "xlstm_slstm": linear.slstm,
}
# Systems whose layers are no cells.
FEED_FORWARD = {"bipolar", "highway"}
