"""The words of the grammar, in plain tables that people can proofread.

Every English word has exactly one German translation, so the corpus is a function that a small
model can learn.
"""
