"""A search on disk: the loop over generations and seeds, and its record."""
