"""Novelty search without an archive, archive-based baselines, and measures of both."""

import lazy_loader

# The names stand in __init__.pyi. They are imported when first used: importing JAX takes seconds,
# `brns --help` none.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "1.0.0rc1"
