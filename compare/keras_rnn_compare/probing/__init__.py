"""Probes of what a cell can do, on small tasks that ask one thing of its state."""
