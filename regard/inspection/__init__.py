"""Looking inside a trained model: attention, alignments and search, as arrays and as pictures."""
