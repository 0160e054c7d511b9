"""Finding a good target: search sees a step function and a State, never a model."""
