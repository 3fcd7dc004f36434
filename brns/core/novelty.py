"""An estimator's methods as the search calls them, in float32."""

import contextlib
from collections.abc import Generator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from brns.core.box import Box
from brns.core.contracts import NoveltyEstimator
from brns.core.evaluation import check_shape, name_function_or_class
from brns.core.population import Generation, Population


@contextlib.contextmanager
def use_float32() -> Generator[None, None, None]:
    """Meanwhile code compiles in float32, also with `jax_enable_x64`, with products in full, and
    arrays of unequal rank and type may meet, whatever JAX was told of them.
    """
    with (
        jax.default_matmul_precision("highest"),
        jax.enable_x64(False),
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
    ):
        yield


def init_state(estimator: NoveltyEstimator, space: Box, key: Key[Array, ""]) -> PyTree:
    """`estimator.init` in float32; a `ValueError` where a run could not save the state."""
    with use_float32():
        state = estimator.init(space, key)
        for leaf in jax.tree.leaves(state):
            kind = getattr(leaf, "dtype", type(leaf).__name__)
            is_key = eqx.is_array(leaf) and jnp.issubdtype(kind, jax.dtypes.prng_key)
            if is_key or not eqx.is_array_like(leaf):
                raise ValueError(
                    f"{name_function_or_class(estimator)}.init must give a tree of arrays of "
                    f"numbers, which a run can save; got {kind} in it. Text and objects are "
                    "settings; update is given a new random key in every generation"
                )
        return _to_arrays(state)


def _to_arrays(state: PyTree) -> PyTree:
    """A state whose numbers, also Python's, are arrays of the types that saved ones have."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf)), state)


def score_novelty(
    estimator: Any, state: PyTree, descriptors: Float[Array, "n d"], population: Population
) -> Float[Array, " n"]:
    r"""$\Omega^g$ of descriptors in float32, by whatever has an estimator's `score`."""
    with use_float32():
        novelty = estimator.score(state, descriptors, population)
        check_shape("score", estimator, novelty, descriptors.shape[:1])
        return jnp.asarray(novelty, jnp.float32)


def update_estimator(
    estimator: NoveltyEstimator, state: PyTree, generation: Generation, key: Key[Array, ""]
) -> PyTree:
    """`estimator.update` in float32; see `NoveltyEstimator.update`."""
    with use_float32():
        return _to_arrays(estimator.update(state, generation, key))


def init_and_score_founders(
    estimator: NoveltyEstimator, space: Box, founders: Population, key: Key[Array, ""]
) -> tuple[Population, PyTree]:
    """The founders with their novelty, and the estimator's state before it learns them."""
    state = init_state(estimator, space, key)
    novelty = score_novelty(estimator, state, founders.descriptor, founders)
    return founders._replace(novelty=novelty), state


@eqx.filter_jit
def score_novelty_jit(
    estimator: Any, state: PyTree, descriptors: Float[Array, "n d"], population: Population
) -> Float[Array, " n"]:
    """`score_novelty`, compiled: measures and pictures ask again and again."""
    # A record's arrays are NumPy's, also where `jax.disable_jit` leaves them so.
    state, descriptors, population = jax.tree.map(jnp.asarray, (state, descriptors, population))
    return score_novelty(estimator, state, descriptors, population)
