"""Worlds: what genotypes do in them."""
