"""Everything that exists for speed alone, each beside the plain computation it replaces."""
