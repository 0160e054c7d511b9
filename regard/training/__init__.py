"""From batches to trained weights: the loop, optimisers, averages, checkpoints, journal."""
