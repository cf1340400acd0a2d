"""LSUV: scales each layer until its output has unit variance."""
