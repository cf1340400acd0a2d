"""Scores, intervals, baselines, and the differences that are more than noise."""
