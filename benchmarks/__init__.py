"""Speed and quality beside the peers; every figure is a ratio from one run."""
