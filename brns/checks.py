"""What is refused, and why: the search asks at every start, `check_task` and `check_estimator` before a long run."""

import contextlib
import itertools
import typing
from collections.abc import Generator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from brns.core import (
    Box,
    Evaluation,
    Generation,
    NoveltyEstimator,
    Population,
    Task,
    conform,
    individuals,
    scored,
    take,
    unite,
)
from brns.settings import shown

SAFE = "Nothing of this was saved; what was saved before is safe"
SKIP = (
    "To go on without individuals that fail: brns.Chunked(task, chunk=None, failures=0.1), with workers "
    "brns.Processes(task, failures=0.1), on the command line --failures 0.1; or the task itself says which failed, in "
    "the column `failed` of its Evaluation"
)
TRACED = "traceable is True, but evaluate is not JAX code; a task in NumPy or any other Python says traceable = False"
NOT_JAX = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, TypeError)


def same_structure(estimator: NoveltyEstimator, before: PyTree, after: PyTree) -> None:
    """A `ValueError` where an estimator's `update` changed the structure, shapes or types of its state."""
    was, now = (
        jax.tree.map(lambda leaf: f"{jnp.result_type(leaf)}{jnp.shape(leaf)}", tree)
        for tree in (before, after)
    )
    if was != now:
        raise ValueError(
            f"{type(estimator).__name__}.update must return a state of the same structure, shapes and types as init's; "
            f"got\n{now}\nafter\n{was}"
        )


def refuse_wrong(name: str, part: Any, contract: type) -> None:
    """A `ValueError` where a part of a search is a class, or not what its contract asks for."""
    if isinstance(part, type):
        raise ValueError(
            f"{name} must be made, not a class: write {part.__name__}(...); got the class {part.__name__}"
        )
    if not isinstance(part, contract):
        asked = [
            member
            for member in vars(contract)
            if member == "__call__" or not member.startswith("_")
        ]
        missing = [member for member in asked if not hasattr(part, member)]
        raise ValueError(
            f"{name} must have {', '.join(asked)}, as brns.core.{contract.__name__} says; got {shown(part)} "
            f"without {', '.join(missing)}"
        )


def refuse_outside(founders: Float[Array, "n p"], space: Box) -> None:
    """A `ValueError` where founders lie outside the genotype space or are no numbers, if they are known yet."""
    if not isinstance(founders, Tracer):
        outside = int((~((founders >= space.low) & (founders <= space.high))).any(axis=1).sum())
        if outside:
            raise ValueError(
                f"{outside} of {len(founders)} founders lie outside the genotype space; clip them to its bounds"
            )


def refuse_not_finite(number: int, generation: Generation) -> None:
    """A `ValueError` where what is not a finite number has not failed, or where all failed."""
    if generation.offspring.failed.all():
        raise ValueError(
            f"all {len(generation.offspring.id)} of generation {number} failed. {SAFE}"
        )
    sources = {
        "genotype": "mutation" if number else "founders",
        "descriptor": "task",
        "fitness": "task",
        "novelty": "estimator",
    }
    for rows, (column, source) in itertools.product(
        (generation.offspring, generation.parents), sources.items()
    ):
        finite = np.isfinite(getattr(rows, column))
        bad = ~finite.all(axis=tuple(range(1, finite.ndim)))
        if column != "genotype":
            bad &= ~np.asarray(rows.failed)
        if bad.any():
            ids = np.asarray(rows.id)[bad].tolist()
            hint = f" {SKIP}" if source == "task" else ""
            raise ValueError(
                f"the {source} gave a {column} that is not finite for {len(ids)} of {bad.size} individuals of "
                f"generation {number} (first ids {', '.join(map(str, ids[:3]))}). {SAFE}.{hint}"
            )


def refuse_nan(number: int, state: PyTree) -> None:
    """A `ValueError` where an estimator's state holds NaN; infinity may mark what is empty."""
    for path, leaf in jax.tree.leaves_with_path(state):
        if wrong := np.isnan(leaf).sum():
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            raise ValueError(
                f"the estimator's state has {wrong} NaN after generation {number} (in {name}); a smaller learning rate "
                f"may help. {SAFE}"
            )


@contextlib.contextmanager
def traced(task: Task) -> Generator[None, None, None]:
    """An error with a note of what it says about a task, or of how to go on without whom it met."""
    try:
        yield
    except Exception as error:
        if not task.traceable and SKIP not in getattr(error, "__notes__", ()):
            error.add_note(SKIP)
        if task.traceable and isinstance(error, jax.errors.JAXTypeError):
            error.add_note(f"{type(task).__name__}: {TRACED}")
        raise


def refuse_unless(part: Any, **rules: tuple[Any, str]) -> None:
    """A `ValueError` where a setting breaks its rule, or is none of the choices that its type names."""
    for name, hint in typing.get_type_hints(type(part)).items():
        if typing.get_origin(hint) is typing.Literal:
            known = typing.get_args(hint)
            rules[name] = getattr(part, name) in known, " or ".join(known)
    for name, (kept, rule) in rules.items():
        if not kept:
            raise ValueError(
                f"{type(part).__name__}.{name} must be {rule}; got {getattr(part, name)!r}"
            )


def check_task(
    task: Task, n: int = 8, sizes: Sequence[int] | None = None, tolerance: float = 0.0
) -> None:
    """Raise a `ValueError` that says what is wrong with a task, or return.

    Evaluates `n` uniform genotypes and checks: shapes and types; descriptors inside the behavior space and finite
    fitness; the same bits for the same genotypes and key; row i depends on genotype i alone (in another order, beside
    others, in batches of `sizes`, by default n - 1); a traceable task gives compiled what it gives uncompiled. A
    simulator of exactly 64 worlds is checked by `check_task(task, n=64, sizes=())`.

    `tolerance` is for simulators that add in any order, such as physics on a GPU (about 1e-5): how far a genotype may
    be from itself, as a share of the box or of the fitness. Batches may round differently: all rows must agree to
    0.1 %, in a smaller batch, or compiled, half of them.
    """
    refuse_wrong("task", task, Task)
    name, box = type(task).__name__, task.behavior_space
    for space in (task.genotype_space, box):
        if not isinstance(space, Box):
            raise ValueError(
                f"{name}.genotype_space and {name}.behavior_space must be a brns.Box; got {space!r}"
            )
    key = jax.random.key(0)
    genotypes = task.genotype_space.uniform(key, n)
    first = conform(task.evaluate(genotypes, key), n, task)
    living = ~np.asarray(first.failed)
    finite = np.isfinite(first.descriptor).all(axis=1) & np.isfinite(first.fitness)
    if not finite[living].all():
        raise ValueError(
            f"{name}.evaluate gave a descriptor or fitness that is not finite for genotypes in the box"
        )
    inside = ((first.descriptor >= box.low) & (first.descriptor <= box.high)).all(axis=1)
    outside = ~np.asarray(inside) & living
    if outside.any():
        raise ValueError(
            f"{name}.evaluate gave {outside.sum()} of {n} descriptors outside behavior_space, such as "
            f"{np.asarray(first.descriptor)[outside][0]}; widen the box or clip the descriptor"
        )
    near = {"share": max(tolerance, 1e-3), "least": max(tolerance, 1e-6)}
    again = conform(task.evaluate(genotypes, key), n, task)
    if not _agreeing(task, again, first, tolerance, tolerance).all():
        raise ValueError(
            f"{name}.evaluate must give the same result for the same genotypes and key; where a simulator cannot, "
            "give check_task the tolerance that it needs"
        )
    for where, batch, row in _batches(task, genotypes, [n - 1] if sizes is None else sizes):
        got = conform(task.evaluate(batch, key), len(batch), task)
        agree = _agreeing(
            task,
            take(got, jnp.flatnonzero(row >= 0)),
            take(first, jnp.asarray(row[row >= 0])),
            **near,
        )
        if agree.mean() < (1 if len(batch) == n else 0.5):
            raise ValueError(
                f"row i of {name}.evaluate must depend on genotype i and the key alone, not on its place or its "
                f"neighbours; {(~agree).sum()} of {agree.size} genotypes gave something else {where}"
            )
    if task.traceable:
        try:
            compiled = jax.jit(
                lambda genotypes, key: conform(task.evaluate(genotypes, key), n, task)
            )(genotypes, key)
        except NOT_JAX as error:
            raise ValueError(f"{name}: {TRACED} ({error})") from None
        if _agreeing(task, compiled, first, **near).mean() < 0.5:
            raise ValueError(
                f"{name}.evaluate must give compiled, by jax.jit, what it gives otherwise"
            )


def _batches(
    task: Task, genotypes: Float[Array, "n p"], sizes: Sequence[int]
) -> list[tuple[str, Float[Array, "m p"], np.ndarray]]:
    """Other batches of the same genotypes, with the row that each was before, or -1 for another."""
    n = len(genotypes)
    rows = np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    moved = np.empty(n, int)
    moved[order] = np.roll(order, 1)  # one cycle through all rows: every one gets another place
    kept = rows % 2 == 0
    beside = jnp.where(kept[:, None], genotypes, task.genotype_space.uniform(jax.random.key(1), n))
    return [
        ("in another order", genotypes[moved], moved),
        ("beside other genotypes", beside, np.where(kept, rows, -1)),
        *((f"in a batch of {size}", genotypes[:size], rows[:size]) for size in sizes),
    ]


def _agreeing(task: Task, a: Evaluation, b: Evaluation, share: float, least: float) -> np.ndarray:
    """The rows in which two evaluations agree: descriptors to a share of the box, fitness as well, success exactly.

    Rows that failed in both agree, whatever else they hold.
    """
    width = np.asarray(task.behavior_space.high - task.behavior_space.low)
    near = (np.abs(np.asarray(a.descriptor) - np.asarray(b.descriptor)) <= share * width).all(
        axis=1
    )
    living = (
        near
        & np.isclose(a.fitness, b.fitness, rtol=share, atol=least)
        & np.equal(a.solved, b.solved)
    )
    failed, other = np.asarray(a.failed), np.asarray(b.failed)
    return np.where(failed | other, failed == other, living)


def check_estimator(estimator: NoveltyEstimator, dimension: int = 2, n: int = 32) -> None:
    """Raise a `ValueError` that says what is wrong with a novelty estimator, or return.

    Runs three generations of `n` + `n` random behaviors in [0, 1]^dimension, twice, and checks: init, score and update
    compile with the estimator as an argument, as the search compiles them; novelty has shape `(n,)` and is finite; the
    state keeps its structure, shapes and types; the same key gives the same bits; and a descriptor's novelty does not
    depend on its row or on how many others are asked about, also for a population of another size.
    """
    refuse_wrong("estimator", estimator, NoveltyEstimator)
    name = type(estimator).__name__
    try:
        (state, union), again = (_three_generations(estimator, dimension, n) for _ in range(2))
        if not eqx.tree_equal((state, union), again):
            raise ValueError(
                f"{name} must give the same state and the same novelty for the same key, to the bit"
            )
        order = np.random.default_rng(0).permutation(2 * n)
        novelty = _compiled(estimator, "score", state, union.descriptor, union)
        permuted = _compiled(estimator, "score", state, union.descriptor[order], union)
        living = take(union, slice(n + n // 2))  # another size of population than the loop's
        together = _compiled(estimator, "score", state, union.descriptor, living)
        three = _compiled(estimator, "score", state, union.descriptor[-3:], living)
    except NOT_JAX as error:
        raise ValueError(
            f"{name}.init, score and update must be JAX code that compiles with the estimator as an argument; "
            f"{type(error).__name__}: {error}"
        ) from error
    _near(
        permuted, novelty[order], f"{name}.score must permute novelty when descriptors are permuted"
    )
    _near(
        three,
        together[-3:],
        f"{name}.score of a descriptor must not depend on what else is asked about",
    )


def _three_generations(
    estimator: NoveltyEstimator, dimension: int, n: int
) -> tuple[PyTree, Population]:
    space, key = Box([0.0] * dimension, [1.0] * dimension), jax.random.key(0)
    state = _compiled(estimator, "init", space, key)
    parents = union = individuals(space.uniform(jax.random.fold_in(key, 0), n))
    for g in range(1, 4):
        offspring = individuals(space.uniform(jax.random.fold_in(key, g), n), g, g * n)
        union = unite(parents, offspring)
        union = union._replace(
            novelty=_compiled(estimator, "score", state, union.descriptor, union)
        )
        if not np.isfinite(union.novelty).all():
            raise ValueError(
                f"{type(estimator).__name__}.score gave novelty that is not finite in generation {g}"
            )
        survivors = take(union, jnp.argsort(-union.novelty, stable=True)[:n])
        generation = Generation(take(union, slice(n)), take(union, slice(n, None)), survivors)
        learned = _compiled(estimator, "update", state, generation, key)
        same_structure(estimator, state, learned)
        state, parents = learned, survivors
    return state, union


@eqx.filter_jit
def _compiled(estimator: NoveltyEstimator, method: str, *arguments: Any) -> Any:
    """What a method gives, compiled as the search compiles it."""
    return (
        scored(estimator, *arguments)
        if method == "score"
        else getattr(estimator, method)(*arguments)
    )


def _near(found: Any, wanted: Any, law: str) -> None:
    if not np.allclose(found, wanted, rtol=1e-4, atol=1e-5 * float(np.max(np.abs(wanted)))):
        raise ValueError(f"{law}; it gave {found[:3]} in place of {wanted[:3]}")
