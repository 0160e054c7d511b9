"""Text becomes batches: tokenizer, corpus, doctor, store, batch."""
