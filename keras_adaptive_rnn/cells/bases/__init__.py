"""What the cells share: their protocol, and the bases that a cell of your own may have."""
