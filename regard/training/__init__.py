"""From batches to trained weights, without ever losing what was learned."""
