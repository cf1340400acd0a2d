"""What the papers claim, on data and budgets of one's own: a command for each claim."""
