"""The protocol of a cell, and base classes for cells of your own."""
