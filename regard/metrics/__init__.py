"""Scores of outputs against references; every score carries the signature that makes it one."""
