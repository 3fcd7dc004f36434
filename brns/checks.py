"""What is refused, and why: the search asks at every start, `check_task` and `check_estimator` before a long run."""

import difflib
import inspect
import math
import typing
from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from brns.core import Box, Evaluation, Generation, NoveltyEstimator, Task, individuals, scored, take, unite
from brns.settings import Kind, parts, shown

REAL = (jnp.bool_, jnp.integer, jnp.floating)
NOT_JAX = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, TypeError)


def conform(evaluation: Any, n: int, task: Task) -> Evaluation:
    """The evaluation as float32 and bool columns; a `ValueError` that names the task where it is none of n genotypes.

    `solved` is bools, or exact zeros and ones where the task is no JAX code.
    """
    said = f"{type(task).__name__}.evaluate of {n} genotypes must return"
    if not isinstance(evaluation, Evaluation):
        raise ValueError(f"{said} a brns.Evaluation; got {type(evaluation).__name__}")
    columns = {}
    d = task.behavior_space.dimension
    for name, shape in {"descriptor": (n, d), "fitness": (n,), "solved": (n,)}.items():
        given = getattr(evaluation, name)
        values = given if isinstance(given, jax.Array) else np.asanyarray(given)
        if values.shape != shape:
            raise ValueError(f"{said} {name} of shape {shape}; got {values.shape}")
        if np.ma.isMaskedArray(values) or not any(map(partial(jnp.issubdtype, values.dtype), REAL)):
            raise ValueError(f"{said} {name} as real numbers, none masked; got {type(values).__name__} {values.dtype}")
        columns[name] = values
    solved = columns["solved"]
    if solved.dtype != bool and (isinstance(solved, Tracer) or not np.isin(solved, (0, 1)).all()):
        raise ValueError(f"{said} solved as bools, as in distance < 40; got {solved.dtype}")
    return Evaluation(
        jnp.asarray(columns["descriptor"], jnp.float32),
        jnp.asarray(columns["fitness"], jnp.float32),
        jnp.asarray(solved, bool),
    )


def same_structure(estimator: NoveltyEstimator, before: PyTree, after: PyTree) -> None:
    """A `ValueError` where an estimator's `update` changed the structure, shapes or types of its state."""

    def shapes(tree: PyTree) -> tuple[Any, list[str]]:
        leaves, structure = jax.tree.flatten(tree)
        return structure, [f"{jnp.result_type(leaf)}{jnp.shape(leaf)}" for leaf in leaves]

    if shapes(before) != shapes(after):
        raise ValueError(
            f"{type(estimator).__name__}.update must return a state of the same structure, shapes and types as init's; "
            f"got\n{shapes(after)}\nafter\n{shapes(before)}"
        )


def refuse_wrong(name: str, part: Any, kind: Kind, contract: type) -> None:
    """A `ValueError` where a part of a search is a class, a name, or not what its contract asks for."""
    if isinstance(part, type):
        raise ValueError(f"{name} must be made, not a class: write {part.__name__}(...); got the class {part.__name__}")
    if isinstance(part, str):
        classes = {name: ours.attribute for ours in parts(kind).values() for name in (ours.name, ours.attribute)}
        (found, *_) = difflib.get_close_matches(part, classes, n=1) or classes
        raise ValueError(f"{name} is no text; did you mean brns.{classes[found]}()? Got {part!r}")
    if not isinstance(part, contract):
        asked = [member for member in vars(contract) if member == "__call__" or not member.startswith("_")]
        raise ValueError(
            f"{name} must have {', '.join(asked)}, as brns.core.{contract.__name__} says; got {shown(part)}"
        )


def refuse_shape(name: str, part: Any, found: Any, wanted: tuple[int, ...]) -> None:
    """A `ValueError` where what an operator gave is of another shape than the search needs."""
    if jnp.shape(found) != wanted:
        who = getattr(part, "__name__", type(part).__name__)
        raise ValueError(f"{name} must give an array of shape {wanted}; {who} gave {jnp.shape(found)}")


def refuse_outside(founders: Float[Array, "n p"], space: Box) -> None:
    """A `ValueError` where founders lie outside the genotype space or are no numbers, if they are known yet."""
    if not isinstance(founders, Tracer):
        outside = int((~((founders >= space.low) & (founders <= space.high))).any(axis=1).sum())
        if outside:
            raise ValueError(
                f"{outside} of {len(founders)} founders lie outside the genotype space; clip them to its bounds"
            )


def refuse_unknown(part: Any) -> None:
    """A `ValueError` where a setting is none of the choices that its type names."""
    for name, hint in typing.get_type_hints(type(part)).items():
        value, known = getattr(part, name), typing.get_args(hint)
        if typing.get_origin(hint) is typing.Literal and value not in known:
            raise ValueError(f"{type(part).__name__}.{name} must be {' or '.join(known)}; got {value!r}")


def refuse_threshold(part: str, threshold: float | None) -> None:
    """A `ValueError` for a threshold that no novelty is above, or that is no number."""
    if threshold is not None and not math.isfinite(threshold):
        raise ValueError(f"{part}.threshold must be a finite number, or None for none; got {threshold}")


def check_task(task: Task, n: int = 8, sizes: Sequence[int] | None = None, tolerance: float = 0.0) -> None:
    """Raise a `ValueError` that says what is wrong with a task, or return.

    Evaluates `n` genotypes drawn uniformly, 2 or more, and checks: both spaces are boxes; shapes and types; finite
    descriptors and fitness; descriptors inside the behavior space; the same bits for the same genotypes and key; row i
    depends on genotype i alone (in another order, beside other genotypes, beside copies of itself, in smaller
    batches); and, with `traceable = True`, that `evaluate` compiles and then gives what it gives uncompiled.

    `sizes` are the smaller batches that are tried, by default one of n - 1. A simulator with 64 worlds, neither more
    nor fewer, is checked by `check_task(task, n=64, sizes=())`; its population and its offspring must be 64 too.

    `tolerance` is how far the same genotype may be from itself when it is evaluated again: descriptors as a share of
    the box's width, fitness absolutely and as a share. Physics on a GPU adds in any order and needs about 1e-5. Above
    0 the promise of the same bits does not hold: a seed run twice, or resumed, is another run by the same law.

    Rounding may differ where the batch does, and a chaotic world makes much of it. So in a batch of another size, or
    compiled, half of the rows must agree, and everywhere else all: to 0.1 %, or to `tolerance` where that is more.
    """
    name = type(task).__name__
    if n < 2:
        raise ValueError(f"check_task needs n >= 2 genotypes, to tell neighbours apart; got n={n}")
    _check_members(task)
    key = jax.random.key(0)
    genotypes = task.genotype_space.uniform(key, n)
    first = conform(task.evaluate(genotypes, key), n, task)
    for column in ("descriptor", "fitness"):
        if not np.isfinite(getattr(first, column)).all():
            raise ValueError(f"{name}.evaluate gave a {column} that is not finite for genotypes inside the box")
    box = task.behavior_space
    outside = np.asarray(jnp.any((first.descriptor < box.low) | (first.descriptor > box.high), axis=1))
    if outside.any():
        raise ValueError(
            f"{name}.evaluate gave {outside.sum()} of {n} descriptors outside behavior_space, such as "
            f"{np.asarray(first.descriptor)[outside][0]}; widen the box or clip the descriptor"
        )
    again = conform(task.evaluate(genotypes, key), n, task)
    if not _agreeing(task, again, first, tolerance, tolerance).all():
        raise ValueError(
            f"{name}.evaluate must give the same result for the same genotypes and key; where a simulator cannot, "
            "give check_task the tolerance that it needs"
        )
    near = {"share": max(tolerance, 1e-3), "least": max(tolerance, 1e-6)}
    _check_rows(task, genotypes, first, [n - 1] if sizes is None else sizes, near)
    if task.traceable:
        _check_compiled(task, genotypes, first, near)


def _check_members(task: Any) -> None:
    """The task is made, has two boxes, and its `evaluate` takes genotypes and key."""
    name = type(task).__name__
    if isinstance(task, type):
        raise ValueError(f"check_task takes a task, not its class: write {task.__name__}(...)")
    for space in ("genotype_space", "behavior_space"):
        if not isinstance(getattr(task, space, None), Box):
            raise ValueError(f"{name}.{space} must be a brns.Box; got {getattr(task, space, None)!r}")
    traceable = getattr(task, "traceable", None)
    if not isinstance(traceable, bool):
        raise ValueError(f"{name}.traceable must be True (JAX code) or False (it runs on the host); got {traceable!r}")
    try:
        inspect.signature(task.evaluate).bind(None, None)
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{name} must have a method evaluate(genotypes, key); {error}") from None


def _check_rows(
    task: Task, genotypes: Float[Array, "n p"], first: Evaluation, sizes: Sequence[int], near: dict[str, float]
) -> None:
    """Row i depends on genotype i and the key alone: `first` is what the task says of the genotypes as they are."""
    n = len(genotypes)
    places = np.arange(len(genotypes))
    key = jax.random.key(0)
    order = np.random.default_rng(0).permutation(n)
    moved = np.empty(n, int)
    moved[order] = np.roll(order, 1)  # one cycle through all rows: every one gets another place
    others = task.genotype_space.uniform(jax.random.key(2), n)
    batches = [("in another order", genotypes[moved], moved)]
    for kept in (places % 2 == 0, places % 2 == 1):
        beside = jnp.where(kept[:, None], genotypes, others)
        batches.append(("beside other genotypes", beside, np.where(kept, places, -1)))
    batches.append(("beside copies of itself", jnp.broadcast_to(genotypes[0], genotypes.shape), np.zeros(n, int)))
    batches += [(f"in a batch of {size}", genotypes[:size], places[:size]) for size in sizes]
    for where, batch, row in batches:  # row: which row of `first` each row of the batch should equal, or -1
        got = conform(task.evaluate(batch, key), len(batch), task)
        known = row >= 0
        agree = _agreeing(task, take(got, jnp.flatnonzero(known)), take(first, jnp.asarray(row[known])), **near)
        if not (agree.all() if len(batch) == n else 2 * agree.sum() >= agree.size):
            raise ValueError(
                f"row i of {type(task).__name__}.evaluate must depend on genotype i and the key alone, not on its "
                f"place or its neighbours; {(~agree).sum()} of {agree.size} genotypes gave something else {where}"
            )


def _check_compiled(task: Task, genotypes: Float[Array, "n p"], first: Evaluation, near: dict[str, float]) -> None:
    """A task that says that it is JAX code compiles, and compiled says the same, whatever it was compiled for."""
    name, n = type(task).__name__, len(genotypes)
    compiled = eqx.filter_jit(lambda task, genotypes, key: conform(task.evaluate(genotypes, key), n, task))
    try:
        compiled(task, task.genotype_space.uniform(jax.random.key(1), n), jax.random.key(1))
        got = compiled(task, genotypes, jax.random.key(0))
    except NOT_JAX as error:
        raise ValueError(f"{name}.traceable is True, but evaluate is not JAX code ({error})") from None
    if 2 * _agreeing(task, got, first, **near).sum() < n:
        raise ValueError(f"{name}.evaluate must give compiled, by jax.jit, what it gives otherwise")


def _agreeing(task: Task, a: Evaluation, b: Evaluation, share: float, least: float) -> np.ndarray:
    """The rows in which two evaluations agree: descriptors to a share of the box, fitness as well, success exactly."""
    width = np.asarray(task.behavior_space.high - task.behavior_space.low)
    near = (np.abs(np.asarray(a.descriptor) - np.asarray(b.descriptor)) <= share * width).all(axis=1)
    return near & np.isclose(a.fitness, b.fitness, rtol=share, atol=least) & np.equal(a.solved, b.solved)


def check_estimator(estimator: NoveltyEstimator, dimension: int = 2, n: int = 32) -> None:
    """Raise a `ValueError` that says what is wrong with a novelty estimator, or return.

    Runs three generations of `n` + `n` random behaviors in [0, 1]^dimension and checks: init, score and update compile
    with the estimator as an argument, as the search compiles them; score gives the same compiled and not; novelty has
    shape `(n,)` and is finite; a descriptor has the same novelty wherever it stands and however many are asked about,
    for a population of any size; the state keeps its structure, shapes and types through `update`; and all is the same
    to the bit for the same key.
    """
    if isinstance(estimator, type):
        raise ValueError(f"check_estimator takes an estimator, not its class: write {estimator.__name__}(...)")
    name = type(estimator).__name__
    space = Box([0.0] * dimension, [1.0] * dimension)
    key = jax.random.key(0)
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
    parts = (slice(None), slice(n // 2), slice(n // 2, None))
    try:
        together, *apart = (_compiled(estimator, "score", state, union.descriptor[rows], living) for rows in parts)
    except ValueError as error:
        raise ValueError(
            f"{name}.score must work for any number of descriptors and any size of population; of {2 * n} and fewer "
            f"descriptors beside {len(living.id)} individuals: {error}"
        ) from None
    _near(jnp.concatenate(apart), together, f"{name}.score of a descriptor must not depend on what else is asked about")


@eqx.filter_jit
def _call(estimator: NoveltyEstimator, method: str, *arguments: Any) -> Any:
    return scored(estimator, *arguments) if method == "score" else getattr(estimator, method)(*arguments)


def _compiled(estimator: NoveltyEstimator, method: str, *arguments: Any) -> Any:
    """What a method gives, compiled as the search compiles it."""
    try:
        return _call(estimator, method, *arguments)
    except NOT_JAX as error:
        raise ValueError(
            f"{type(estimator).__name__}.{method} must be JAX code, which compiles with the estimator as an argument; "
            f"it ended in {type(error).__name__}: {error}"
        ) from None


def _near(a: Any, b: Any, law: str) -> None:
    if not np.allclose(a, b, rtol=1e-4, atol=1e-5 * float(np.max(np.abs(b)))):
        raise ValueError(f"{law}; it gave {np.ravel(a)[:3]} in place of {np.ravel(b)[:3]}")


def _same(a: Any, b: Any, law: str) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        if not np.array_equal(x, y):
            raise ValueError(f"{law}; it gave {np.ravel(x)[:3]} and then {np.ravel(y)[:3]}")
