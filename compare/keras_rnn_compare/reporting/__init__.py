"""The result of a comparison, its predictions and its report."""
