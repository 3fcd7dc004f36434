"""Novelty in other people's loops, and other people's methods beside ours."""
