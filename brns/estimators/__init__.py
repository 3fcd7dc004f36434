"""Novelty estimators, one idea a file."""
