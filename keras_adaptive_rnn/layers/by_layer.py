"""A deep cell over a sequence, one layer after the other."""

import contextlib
import dataclasses

from keras_adaptive_rnn import engine


def scan(tower, sequence, states, output, mask, options):
    """`engine.scan` over the steps of a deep cell in another order: each layer takes all of them before the next does.

    All that a layer reads of the one below is then known, so that the products with it are one large product, and the
    layers above the lowest are one loop, compiled once. The numbers are the same, also with a mask: what a layer puts
    out at a masked step, nobody reads.

    Args:
        tower: The `Tower` of the cell, whose sequence has started.
        sequence: Tensor `[time, batch, features]`.
        states, output, mask, options: As in `engine.scan`.
    """
    every = dataclasses.replace(options, return_sequences=True, zero_output_for_mask=False, inside_layers=True)

    def run(flow, states, layer):
        @contextlib.contextmanager
        def resume():
            with options.resume(), tower.wearing(layer):
                yield

        def step(projected, states):
            return tower.step(projected, states, layer)

        with tower.wearing(layer):
            projected = tower.project(flow, layer)
            inner = dataclasses.replace(every, resume=resume)
            _, outputs, states = engine.scan(step, projected, states, states[0], mask, inner)
            return tower.hand_on(flow, outputs, layer), states

    flow = [sequence]
    clock, lowest, above = tower.divide(states)
    if clock:
        # The clock as each step finds it.
        _, clocks, clock = engine.scan(lambda _, now: (now[0], tower.tick(now)), sequence, clock, clock[0], mask, every)
        flow.append(clocks)
    flow, lowest = run(flow, lowest, None)
    flow, above = engine.over_layers(
        lambda flow, states, tensors: run(flow, states, tower.unpack(tensors)), flow, above, tower.tensors
    )
    # A masked step repeats the output before it, or puts out zeros; where the output is a state, that is kept.
    now = tower.output(flow)
    last, outputs, (kept,) = engine.scan(lambda now, _: (now, [now]), now, [output], output, mask, options)
    return last, outputs, tower.join(kept, clock, lowest, above)
