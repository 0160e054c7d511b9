"""Campaigns: thousands of attempts to break regard, each made from a seed and a number alone."""
