"""Scores of outputs against references; each carries a signature that says how it was computed."""
