"""Several recipes trained on the same data with the same budget, and one table of them all."""
