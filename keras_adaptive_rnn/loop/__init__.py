"""The time loop: `RNN`, which runs a cell over a sequence, and the schedules of deep cells."""
