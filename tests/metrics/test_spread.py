"""Spread along each dimension, by hand."""

import numpy as np
import pytest

from brns.metrics.spread import spread


def test_spread_by_hand():
    """0, 0, 3, 3 lie 1.5 from their mean; 1 lies on it; of 0, 2, 4, 6 the mean square distance from 3 is 5."""
    points = np.array([[0, 1, 0], [0, 1, 2], [3, 1, 4], [3, 1, 6]], float)
    np.testing.assert_allclose(spread(points), [1.5, 0, np.sqrt(5)])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="never solved"):
        spread(np.zeros((0, 6)))
    with pytest.raises(ValueError, match="1 of 2 are not"):
        spread(np.array([[0.0], [np.nan]]))
