"""What type checkers see of a user's script."""

import pytest

from brns.core import Evaluation, Generation, Population


@pytest.mark.parametrize("table", [Evaluation, Population, Generation])
def test_a_table_has_no_field_without_a_type(table):
    """mypy takes what a named tuple assigns, such as `__repr__ = show`, for one more field."""
    assert table.__repr__.__qualname__ == f"{table.__name__}.__repr__"
