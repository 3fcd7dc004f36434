import jax
import pytest


@pytest.fixture(autouse=True)
def full_products():
    """As a search computes them: an accelerator's own products have 10 bits."""
    with jax.default_matmul_precision("highest"):
        yield
