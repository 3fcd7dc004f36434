"""Checks that users run on their own tasks and estimators before they trust a long run to them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from brns.core import (
    Box,
    Evaluation,
    Generation,
    NoveltyEstimator,
    Task,
    conform,
    individuals,
    same_structure,
    scored,
    take,
    unite,
)

NOT_JAX = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, TypeError)


def check_task(task: Task, n: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with a task, or return.

    Evaluates `n` genotypes drawn uniformly, 2 or more, and checks: both spaces are boxes; shapes and types; finite
    descriptors and fitness; descriptors inside the behavior space; the same bits for the same genotypes and key; row i
    depends on genotype i alone (in another order, beside other genotypes, beside copies of itself, in a smaller
    batch); and, with `traceable = True`, that `evaluate` compiles and then gives what it gives uncompiled.

    Rounding may differ where the batch does, and a chaotic world makes much of it. So in a batch of another size, or
    compiled, half of the rows must agree, and everywhere else all.
    """
    name = type(task).__name__
    if n < 2:
        raise ValueError(f"check_task needs n >= 2 genotypes, to tell neighbours apart; got n={n}")
    for space in ("genotype_space", "behavior_space"):
        if not isinstance(getattr(task, space, None), Box):
            raise ValueError(f"{name}.{space} must be a brns.Box; got {getattr(task, space, None)!r}")
    if not isinstance(getattr(task, "traceable", None), bool):
        raise ValueError(
            f"{name}.traceable must be True (evaluate is JAX code) or False (it runs on the host); "
            f"got {getattr(task, 'traceable', None)!r}"
        )
    key = jax.random.key(0)
    genotypes = task.genotype_space.uniform(key, n)
    first = conform(task.evaluate(genotypes, key), n, task)
    for column in ("descriptor", "fitness"):
        if not np.isfinite(getattr(first, column)).all():
            raise ValueError(f"{name}.evaluate gave a {column} that is not finite for genotypes inside the box")
    low, high = task.behavior_space.low, task.behavior_space.high
    outside = np.asarray(jnp.any((first.descriptor < low) | (first.descriptor > high), axis=1))
    if outside.any():
        raise ValueError(
            f"{name}.evaluate gave {outside.sum()} of {n} descriptors outside behavior_space, such as "
            f"{np.asarray(first.descriptor)[outside][0]}; widen the box or clip the descriptor"
        )
    again = conform(task.evaluate(genotypes, key), n, task)
    _same(first, again, f"{name}.evaluate must give the same result for the same genotypes and key")
    _check_rows(task, genotypes, first, key)
    if task.traceable:
        try:
            compiled = eqx.filter_jit(lambda task, g, k: conform(task.evaluate(g, k), n, task))
            compiled(task, task.genotype_space.uniform(jax.random.key(1), n), jax.random.key(1))
            got = compiled(task, genotypes, key)
        except NOT_JAX as error:
            raise ValueError(f"{name}.traceable is True, but evaluate is not JAX code ({error})") from None
        if 2 * _agreeing(task, got, first).sum() < n:
            raise ValueError(f"{name}.evaluate must give compiled, by jax.jit, what it gives otherwise")


def _check_rows(task: Task, genotypes: Float[Array, "n p"], first: Evaluation, key: Any) -> None:
    """Row i depends on genotype i and the key alone: `first` is what the task says of the genotypes as they are."""
    n, places = len(genotypes), np.arange(len(genotypes))
    order = np.random.default_rng(0).permutation(n)
    moved = np.empty(n, int)
    moved[order] = np.roll(order, 1)  # one cycle through all rows: every one gets another place
    others = task.genotype_space.uniform(jax.random.key(2), n)
    batches = [("in another order", genotypes[moved], moved)]
    for kept in (places % 2 == 0, places % 2 == 1):
        beside = jnp.where(kept[:, None], genotypes, others)
        batches.append(("beside other genotypes", beside, np.where(kept, places, -1)))
    batches.append(("beside copies of itself", jnp.broadcast_to(genotypes[0], genotypes.shape), np.zeros(n, int)))
    batches.append(("in a smaller batch", genotypes[: n - 1], places[: n - 1]))
    for where, batch, row in batches:  # row: which row of `first` each row of the batch should equal, or -1
        got, known = conform(task.evaluate(batch, key), len(batch), task), row >= 0
        agree = _agreeing(task, take(got, jnp.asarray(np.flatnonzero(known))), take(first, jnp.asarray(row[known])))
        if not (agree.all() if len(batch) == n else 2 * agree.sum() >= agree.size):
            raise ValueError(
                f"row i of {type(task).__name__}.evaluate must depend on genotype i and the key alone, not on its "
                f"place or its neighbours; {(~agree).sum()} of {agree.size} genotypes gave something else {where}"
            )


def _agreeing(task: Task, a: Evaluation, b: Evaluation) -> np.ndarray:
    """The rows in which two evaluations agree: descriptors to 0.1 % of the box, fitness to 0.1 %, success exactly."""
    width = np.asarray(task.behavior_space.high - task.behavior_space.low)
    near = (np.abs(np.asarray(a.descriptor) - np.asarray(b.descriptor)) <= 1e-3 * width).all(axis=1)
    return near & np.isclose(a.fitness, b.fitness, rtol=1e-3, atol=1e-6) & np.equal(a.solved, b.solved)


def check_estimator(estimator: NoveltyEstimator, dimension: int = 2, n: int = 32) -> None:
    """Raise a `ValueError` that says what is wrong with a novelty estimator, or return.

    Runs three generations of `n` + `n` random behaviors in [0, 1]^dimension and checks: init, score and update compile
    with the estimator as an argument, as the search compiles them; score gives the same compiled and not; novelty has
    shape `(n,)` and is finite; a descriptor has the same novelty wherever it stands and however many are asked about,
    for a population of any size; the state keeps its structure, shapes and types through `update`; and all is the same
    to the bit for the same key.
    """
    name = type(estimator).__name__
    space, key = Box([0.0] * dimension, [1.0] * dimension), jax.random.key(0)
    state = _compiled(estimator, "init", space, key)
    _same(state, _compiled(estimator, "init", space, key), f"{name}.init must give the same state for the same key")
    parents = individuals(space.uniform(jax.random.fold_in(key, 0), n))
    for g in range(1, 4):
        offspring = individuals(space.uniform(jax.random.fold_in(key, g), n), g, g * n)
        union = unite(parents, offspring)
        novelty = _compiled(estimator, "score", state, union.descriptor, union)
        if not np.isfinite(novelty).all():
            raise ValueError(f"{name}.score gave novelty that is not finite in generation {g}")
        again = _compiled(estimator, "score", state, union.descriptor, union)
        _same(novelty, again, f"{name}.score must be pure, and give the same novelty again")
        order = np.random.default_rng(g).permutation(2 * n)
        permuted = _compiled(estimator, "score", state, union.descriptor[order], union)
        _near(permuted, novelty[order], f"{name}.score must permute novelty when descriptors are permuted")
        if g == 3:
            _check_score(estimator, state, union, novelty)
        union = union._replace(novelty=novelty)
        survivors = take(union, jnp.argsort(-novelty, stable=True)[:n])
        generation = Generation(take(union, slice(n)), take(union, slice(n, None)), survivors)
        learned = _compiled(estimator, "update", state, generation, key)
        same_structure(estimator, state, learned)
        repeated = _compiled(estimator, "update", state, generation, key)
        _same(learned, repeated, f"{name}.update must give the same state for the same key")
        state, parents = learned, generation.survivors


def _check_score(estimator: NoveltyEstimator, state: PyTree, union: Any, novelty: Float[Array, " n"]) -> None:
    """A score that is asked otherwise than the loop asks: by measures and pictures, about points that nobody has."""
    name, n = type(estimator).__name__, len(novelty) // 2
    plain = scored(estimator, state, union.descriptor, union)
    _near(plain, novelty, f"{name}.score must give compiled, by jax.jit, what it gives otherwise")
    living = take(union, slice(n + n // 2))  # another size of population than the loop's
    try:
        together, *apart = (
            _compiled(estimator, "score", state, union.descriptor[rows], living)
            for rows in (slice(None), slice(n // 2), slice(n // 2, None))
        )
    except ValueError as error:
        raise ValueError(
            f"{name}.score must work for any number of descriptors and any size of population; of {2 * n} and fewer "
            f"descriptors beside {len(living.id)} individuals: {error}"
        ) from None
    _near(jnp.concatenate(apart), together, f"{name}.score of a descriptor must not depend on what else is asked about")


def _compiled(estimator: NoveltyEstimator, method: str, *arguments: Any) -> Any:
    """What a method gives, compiled as the search compiles it."""
    try:
        return _COMPILED[method](estimator, *arguments)
    except NOT_JAX as error:
        raise ValueError(
            f"{type(estimator).__name__}.{method} must be JAX code, which compiles with the estimator as an argument; "
            f"it ended in {type(error).__name__}: {error}"
        ) from None


_COMPILED: dict[str, Callable[..., Any]] = {
    "init": eqx.filter_jit(lambda estimator, *arguments: estimator.init(*arguments)),
    "score": eqx.filter_jit(scored),
    "update": eqx.filter_jit(lambda estimator, *arguments: estimator.update(*arguments)),
}


def _near(a: Any, b: Any, law: str) -> None:
    if not np.allclose(a, b, rtol=1e-4, atol=1e-5 * float(np.max(np.abs(b)))):
        raise ValueError(f"{law}; it gave {np.ravel(a)[:3]} in place of {np.ravel(b)[:3]}")


def _same(a: Any, b: Any, law: str) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        if not np.array_equal(x, y):
            raise ValueError(f"{law}; it gave {np.ravel(x)[:3]} and then {np.ravel(y)[:3]}")
