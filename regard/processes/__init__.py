"""Cores, memory, worker pools, and the processes that train a model together."""
