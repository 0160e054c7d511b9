"""Figures, by matplotlib; callers pass plain numbers and text."""
