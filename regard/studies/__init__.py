"""Questions about trained models, each measured in a file of its own."""
