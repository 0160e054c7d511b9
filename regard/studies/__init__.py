"""Studies of trained models: one question per file, answered by measurement."""
