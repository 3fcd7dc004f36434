"""The statistics of the paper, computed from a run's record: each a function on arrays first, then on a record."""

from brns.metrics import coverage, cycling, dynamics, measures, paths, signature, spread, summary, uniformity

__all__ = ["coverage", "cycling", "dynamics", "measures", "paths", "signature", "spread", "summary", "uniformity"]
