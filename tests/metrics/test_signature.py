"""Path signatures: by hand, by Chen's identity and its kin, and against signax."""

import jax.numpy as jnp
import numpy as np
import pytest
import signax

from brns.metrics.signature import chen, signature


def walk(seed, n=5, t=7, c=2):
    return np.random.default_rng(seed).normal(size=(n, t, c)).astype(np.float32)


def levels(terms, c, level):
    """One signature as a list of its levels."""
    ends = np.cumsum([c**k for k in range(1, level)])
    return [jnp.asarray(part) for part in np.split(np.asarray(terms), ends)]


def test_square_by_hand():
    """Around the unit square against the clock: closed, so x = y = 0; xy = -yx = its area, xx = yy = 0."""
    square = np.array([[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]], np.float32)
    np.testing.assert_allclose(signature(square), [[0, 0, 0, 1, -1, 0]], atol=1e-6)


@pytest.mark.parametrize(("c", "level"), [(2, 2), (3, 3)])
def test_agrees_with_signax(c, level):
    paths = walk(0, c=c)
    found = signature(paths, level=level)
    assert found.shape == (5, sum(c**k for k in range(1, level + 1)))
    expected = signax.signature(jnp.asarray(paths), level, flatten=True)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_chens_identity_and_a_path_and_back_again_is_nothing():
    """The signature of a whole path is the product of those of its parts. The direction of time counts."""
    path = walk(1, n=1, t=9, c=3)
    parts = path, path[:, :5], path[:, 4:], path[:, 4::-1]
    signed = [signature(part, level=3)[0] for part in parts]
    whole, first, then, back = (levels(terms, 3, 3) for terms in signed)
    for expected, found, nothing in zip(whole, chen(first, then), chen(first, back), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(nothing, 0, atol=1e-4)
    assert not np.allclose(first[1], back[1], atol=0.1)


def test_place_and_speed_do_not_matter():
    path = walk(3)
    slower = np.insert(path, 3, (path[:, 2] + path[:, 3]) / 2, axis=1)
    np.testing.assert_allclose(signature(slower), signature(path), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(signature(path + np.float32(5)), signature(path), rtol=1e-3, atol=1e-3)
