"""Corpora that the package carries in itself, written by rule, so that nothing is downloaded."""
