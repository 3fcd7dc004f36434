"""Tasks, which evaluate genotypes."""
