"""The words of the grammar: plain tables, because people and not programs have to proofread them.

Every English word has exactly one German rendering, so that the corpus is a function that a small
model can learn.
"""
