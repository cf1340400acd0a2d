"""Trials in this process, in others and on a cluster, and the folder that keeps them."""
