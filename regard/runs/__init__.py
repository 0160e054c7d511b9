"""The life of a run: its folder, preparing data, training, validating, evaluating, loading."""
