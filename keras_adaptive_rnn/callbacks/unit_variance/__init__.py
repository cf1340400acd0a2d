"""LSUV: each layer is scaled until its output has unit variance."""
