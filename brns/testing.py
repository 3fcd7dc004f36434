"""Checks that users run on their own tasks and estimators before they trust a long run to them."""

import jax
import jax.numpy as jnp
import numpy as np

from brns.core import Box, Generation, NoveltyEstimator, Population, Task, take, unite
from brns.search import conform, same_structure


def check_task(task: Task, n: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with a task, or return.

    Evaluates `n` genotypes drawn uniformly and checks: both spaces are boxes; shapes; finite descriptors and fitness;
    descriptors inside the behavior space; the same bits for the same genotypes and key; row i depends on genotype i
    alone (evaluated in another order); and, with `traceable = True`, that `evaluate` compiles.
    """
    name = type(task).__name__
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
    reverse = conform(task.evaluate(genotypes[::-1], key), n, task)
    if not np.allclose(reverse.descriptor[::-1], first.descriptor, rtol=1e-3):
        raise ValueError(f"row i of {name}.evaluate must depend on genotype i and the key alone, not on its neighbours")
    if task.traceable:
        try:
            jax.jit(lambda g, k: task.evaluate(g, k))(genotypes, key)
        except (jax.errors.JAXTypeError, TypeError) as error:
            raise ValueError(f"{name}.traceable is True, but evaluate is not JAX code ({error})") from None


def check_estimator(estimator: NoveltyEstimator, dimension: int = 2, n: int = 32) -> None:
    """Raise a `ValueError` that says what is wrong with a novelty estimator, or return.

    Runs three generations of `n` + `n` random behaviors in [0, 1]^dimension and checks: novelty has shape `(n,)` and is
    finite; permuting the descriptors permutes the novelty; the state keeps its structure, shapes and types through
    `update`; everything compiles, and gives the same bits for the same key.
    """
    name = type(estimator).__name__
    space = Box([0.0] * dimension, [1.0] * dimension)
    key = jax.random.key(0)
    state = estimator.init(space, key)
    score, update = jax.jit(estimator.score), jax.jit(estimator.update)
    parents = _individuals(space, jax.random.fold_in(key, 0), n, 0)
    for g in range(1, 4):
        offspring = _individuals(space, jax.random.fold_in(key, g), n, g)
        union = unite(parents, offspring)
        novelty = score(state, union.descriptor, union)
        if jnp.shape(novelty) != (2 * n,):
            raise ValueError(
                f"{name}.score of {2 * n} descriptors must return novelty of shape ({2 * n},); got {novelty.shape}"
            )
        if not np.isfinite(novelty).all():
            raise ValueError(f"{name}.score gave novelty that is not finite in generation {g}")
        permuted = score(state, union.descriptor[::-1], union)
        if not np.allclose(permuted[::-1], novelty, rtol=1e-4, atol=1e-5 * float(jnp.max(jnp.abs(novelty)))):
            raise ValueError(f"{name}.score must permute novelty when descriptors are permuted")
        union = union._replace(novelty=novelty)
        generation = Generation(take(union, slice(n)), take(union, slice(n, None)), take(union, slice(n, None)))
        learned = update(state, generation, key)
        same_structure(estimator, state, learned)
        _same(learned, update(state, generation, key), f"{name}.update must give the same state for the same key")
        state, parents = learned, generation.survivors


def _individuals(space: Box, key, n: int, born: int) -> Population:
    return Population(
        genotype=jnp.zeros((n, 1)),
        descriptor=space.uniform(key, n),
        fitness=jnp.zeros(n),
        solved=jnp.zeros(n, bool),
        novelty=jnp.zeros(n),
        id=(born * n + jnp.arange(n)).astype(jnp.int32),
        parent=jnp.full(n, -1, jnp.int32),
        born=jnp.full(n, born, jnp.int32),
    )


def _same(a, b, law: str) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        if not np.array_equal(x, y):
            raise ValueError(f"{law}; it gave {np.ravel(x)[:3]} and then {np.ravel(y)[:3]}")
