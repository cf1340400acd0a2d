"""A comparison from its settings to its results: the plan, the search, the trainings."""
