"""Novelty in other people's loops, and records in other people's formats."""
