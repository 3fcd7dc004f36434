"""The check of a novelty estimator of your own."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PyTree

from brns.checks.generations import check_structure
from brns.checks.parts import (
    check_draws_by_key_alone,
    check_part,
    explain_compile_errors,
    require_integer,
)
from brns.core import Box, Generation, NoveltyEstimator, Population
from brns.core.novelty import (
    init_and_score_founders,
    score_novelty,
    score_novelty_jit,
    update_estimator,
)
from brns.core.population import concatenate_populations, take_rows
from brns.settings.edits import discard_compiled_if_edited
from brns.settings.sources import UserCode


def check_estimator(estimator: NoveltyEstimator, dimension: int = 2, n: int = 32) -> None:
    """Raise a `ValueError` that says what is wrong with a novelty estimator, or return.

    Runs three generations of `n` + `n` random behaviors in [0, 1]^dimension, twice, and checks:
    init, score and update compile with the estimator as an argument, as the search compiles them;
    novelty has shape `(n,)` and is finite; the state keeps its structure, shapes and types; the
    same key gives the same bits, and no attribute learns; and a descriptor's novelty does not
    depend on its row or on how many others are asked about, also for a population of another size.

    Args:
        estimator: the novelty estimator.
        dimension: of the behaviors.
        n: how many parents, and as many offspring, a generation has.

    Raises:
        ValueError: with the first of these that does not hold.
    """
    check_part("estimator", estimator, NoveltyEstimator)
    dimension = require_integer("dimension", dimension)
    n = require_integer("n", n)
    discard_compiled_if_edited(UserCode(estimator))
    name = type(estimator).__name__
    with explain_compile_errors("estimator", estimator):
        state, union = _run_and_check_three_generations(estimator, dimension, n)
        check_learns_in_state_alone(estimator, state, union, n)
        again = _run_and_check_three_generations(estimator, dimension, n)
        if not eqx.tree_equal((state, union), again):
            same = "the same state and the same novelty for the same key, to the bit"
            raise ValueError(f"{name} must give {same}")
        order = np.random.default_rng(0).permutation(2 * n)
        novelty = score_novelty_jit(estimator, state, union.descriptor, union)
        permuted = score_novelty_jit(estimator, state, union.descriptor[order], union)
        living = take_rows(union, slice(n + n // 2))  # another size of population than the loop's
        together = score_novelty_jit(estimator, state, union.descriptor, living)
        three = score_novelty_jit(estimator, state, union.descriptor[-3:], living)
    law = f"{name}.score must permute novelty when descriptors are permuted"
    _check_close(permuted, novelty[order], law)
    law = f"{name}.score of a descriptor must not depend on what else is asked about"
    _check_close(three, together[-3:], law)


def check_learns_in_state_alone(
    estimator: NoveltyEstimator, state: PyTree, union: Population, n: int
) -> None:
    """Refuse a user's estimator that draws by numpy.random, or learns in attributes of its own. The
    first `n` of the union are the parents: it may keep constants of their number.
    """

    def score_and_learn(state: PyTree, union: Population, key: Key[Array, ""]) -> Any:
        novelty = score_novelty(estimator, state, union.descriptor, union)
        parents, offspring = take_rows(union, slice(n)), take_rows(union, slice(n, None))
        generation = Generation(parents, offspring, parents)
        return novelty, update_estimator(estimator, state, generation, key)

    key = jax.random.key(0)
    check_draws_by_key_alone("estimator", estimator, score_and_learn, state, union, key)


def _run_and_check_three_generations(
    estimator: NoveltyEstimator, dimension: int, n: int
) -> tuple[PyTree, Population]:
    space = Box([0.0] * dimension, [1.0] * dimension)
    begin, first, *keys = jax.random.split(jax.random.key(0), 8)
    founders = Population.from_descriptors(space.uniform(first, n))
    parents, state = eqx.filter_jit(init_and_score_founders)(estimator, space, founders, begin)
    union = parents
    for g, born, learn in zip(range(1, 4), keys[::2], keys[1::2], strict=True):
        offspring = Population.from_descriptors(space.uniform(born, n), g, g * n)
        union = concatenate_populations(parents, offspring)
        novelty = score_novelty_jit(estimator, state, union.descriptor, union)
        if not np.isfinite(novelty).all():
            raise ValueError(
                f"{type(estimator).__name__}.score gave novelty that is not finite in generation "
                f"{g}"
            )
        union = union._replace(novelty=novelty)
        survivors = take_rows(union, jnp.argsort(-novelty, stable=True)[:n])
        before, born = take_rows(union, slice(n)), take_rows(union, slice(n, None))
        generation = Generation(before, born, survivors)
        learned = eqx.filter_jit(update_estimator)(estimator, state, generation, learn)
        check_structure(estimator, state, learned)
        state, parents = learned, survivors
    return state, union


def _check_close(actual: Any, expected: Any, law: str) -> None:
    largest = float(np.max(np.abs(expected)))
    if not np.allclose(actual, expected, rtol=1e-4, atol=1e-5 * largest):
        raise ValueError(f"{law}; it gave {actual[:3]} in place of {expected[:3]}")
