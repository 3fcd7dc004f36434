"""What is refused, and why: the search asks at every start and generation,
the `check_...` before a long run.
"""

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
from jaxtyping import Array, ArrayLike, Float, PyTree

from brns.core import (
    Box,
    Evaluation,
    Founders,
    Generation,
    Mutation,
    NoveltyEstimator,
    Population,
    Selection,
    Task,
    check_shape,
    in_float32,
    score_novelty,
    take,
    unite,
    validate_evaluation,
)
from brns.settings.differences import short_repr

SAFE = "Nothing of this was saved; what was saved before is safe"
SKIP = (
    "To go on without individuals that fail: brns.Chunked(task, chunk=None, failures=0.1), with "
    "workers brns.Processes(task, failures=0.1), on the command line --failures 0.1; or the task "
    "itself says which failed, in the column `failed` of its Evaluation"
)
TRACED = (
    "traceable is True, but evaluate is not JAX code; a task in NumPy or any other Python says "
    "traceable = False"
)
NOT_JAX = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, TypeError)


def check_structure(estimator: NoveltyEstimator, before: PyTree, after: PyTree) -> None:
    """Refuse an estimator whose `update` changed the structure, shapes or types of its state.

    Args:
        estimator: the estimator.
        before: its state, as `init` made it.
        after: its state, as `update` made it.

    Raises:
        ValueError: with both, by shapes and types.
    """
    was, now = (
        jax.tree.map(lambda leaf: f"{jnp.result_type(leaf)}{jnp.shape(leaf)}", tree)
        for tree in (before, after)
    )
    if was != now:
        raise ValueError(
            f"{type(estimator).__name__}.update must return a state of the same structure, shapes "
            f"and types as init's; got\n{now}\nafter\n{was}"
        )


def check_part(name: str, part: Any, contract: type) -> None:
    """Refuse a part of a search that is a class, or not what its contract asks for.

    Args:
        name: the argument of the search.
        part: what was given.
        contract: the protocol that it must fulfil.

    Raises:
        ValueError: with what the contract asks for and the part has not.
    """
    if isinstance(part, type):
        raise ValueError(
            f"{name} must be made, not a class: write {part.__name__}(...); got the class "
            f"{part.__name__}"
        )
    if not isinstance(part, contract):
        members = [
            member
            for member in vars(contract)
            if member == "__call__" or not member.startswith("_")
        ]
        missing = [member for member in members if not hasattr(part, member)]
        raise ValueError(
            f"{name} must have {', '.join(members)}, as brns.core.{contract.__name__} says; got "
            f"{short_repr(part)} without {', '.join(missing)}"
        )


def check_inside(source: str, part: Any, genotypes: Float[ArrayLike, "n p"], space: Box) -> None:
    """Refuse genotypes outside the genotype space, or that are no numbers, once they have values.

    Args:
        source: the argument of the search that gave them, founders or mutate.
        part: what it is.
        genotypes: as it gave them, `(n, p)`; traced ones are not looked at.
        space: the genotype space.

    Raises:
        ValueError: with their number, the first such gene and its bounds.
    """
    if isinstance(genotypes, Tracer):
        return
    rows = np.asarray(genotypes)
    low, high = np.asarray(space.low), np.asarray(space.high)
    outside = ~((rows >= low) & (rows <= high))
    if outside.any():
        row, gene = np.argwhere(outside)[0].tolist()
        raise ValueError(
            f"{source} must give genotypes inside the genotype space; {_name(part)} gave "
            f"{outside.any(axis=1).sum()} of {len(rows)} outside it, such as gene {gene} = "
            f"{rows[row, gene]:g} in row {row}, whose bounds are {low[gene]:g} and "
            f"{high[gene]:g}. Clip them, as in jnp.clip(genotypes, box.low, box.high)"
        )


def refuse_rows(select: Selection, rows: Any, size: int) -> None:
    """Refuse what a selection gave if it is not `size` row numbers; their values are not looked at.

    Args:
        select: the selection.
        rows: what it gave.
        size: how many individuals must live on.

    Raises:
        ValueError: for another shape, and for rows that are no integers.
    """
    dtype = getattr(rows, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.integer):
        raise ValueError(
            f"select must give the survivors' rows as an array of integers; {_name(select)} gave "
            f"{dtype or type(rows).__name__}"
        )
    check_shape("select", select, rows, (size,))


def refuse_twice(select: Selection, survivors: Population) -> None:
    """Refuse survivors of whom one lives on twice, once they have values.

    Args:
        select: the selection that gave them.
        survivors: the rows that it selected; traced ones are not looked at.

    Raises:
        ValueError: with their number and the first ids.
    """
    if isinstance(survivors.id, Tracer):
        return
    ids, times = np.unique(np.asarray(survivors.id), return_counts=True)
    if (times > 1).any():
        first = ", ".join(map(str, ids[times > 1][:3].tolist()))
        raise ValueError(
            "select must give distinct rows, from 0 to one below the population's number; "
            f"{_name(select)} let {(times > 1).sum()} individuals live on twice or more (first "
            f"ids {first})"
        )


def _name(part: Any) -> str:
    """What a function or an operator is called."""
    return getattr(part, "__name__", type(part).__name__)


def check_finite(number: int, generation: Generation) -> None:
    """Refuse a generation that holds what is not a finite number, or of which all failed.

    Args:
        number: of the generation.
        generation: with arrays on the host; who failed may be anything.

    Raises:
        ValueError: with the part of the search that gave it, and whose it is.
    """
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
                f"the {source} gave a {column} that is not finite for {len(ids)} of {bad.size} "
                f"individuals of generation {number} (first ids {', '.join(map(str, ids[:3]))}); "
                f"the descriptors reach {np.max(np.abs(rows.descriptor)):g}. {SAFE}.{hint}"
            )


def check_state(number: int, state: PyTree) -> None:
    """Refuse an estimator's state that holds NaN; infinity may mark what is empty.

    Args:
        number: of the generation.
        state: the estimator's, with arrays on the host.

    Raises:
        ValueError: with the array's name.
    """
    for path, leaf in jax.tree.leaves_with_path(state):
        if wrong := np.isnan(leaf).sum():
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            raise ValueError(
                f"the estimator's state has {wrong} NaN after generation {number} (in {name}); a "
                f"smaller learning rate may help. {SAFE}"
            )


@contextlib.contextmanager
def explain_tracing(task: Task) -> Generator[None, None, None]:
    """An error with a note of what it says about a task, or of how to go on without whom it met.

    Args:
        task: the task that is evaluated meanwhile.

    Yields:
        Nothing.
    """
    try:
        yield
    except Exception as error:
        if not task.traceable and SKIP not in getattr(error, "__notes__", ()):
            error.add_note(SKIP)
        if task.traceable and isinstance(error, jax.errors.JAXTypeError):
            error.add_note(f"{type(task).__name__}: {TRACED}")
        raise


def check_settings(part: Any, **rules: tuple[Any, str]) -> None:
    """Refuse a part whose setting breaks its rule, or is none of the choices that its type names.

    Args:
        part: the part of a search.
        rules: of each setting, whether it holds and how it reads.

    Raises:
        ValueError: with the first rule that does not hold, and the setting.
    """
    for name, hint in typing.get_type_hints(type(part)).items():
        if typing.get_origin(hint) is typing.Literal:
            choices = typing.get_args(hint)
            rules[name] = getattr(part, name) in choices, " or ".join(choices)
    for name, (holds, rule) in rules.items():
        if not holds:
            raise ValueError(
                f"{type(part).__name__}.{name} must be {rule}; got {getattr(part, name)!r}"
            )


def check_task(
    task: Task, n: int = 8, sizes: Sequence[int] | None = None, tolerance: float = 0.0
) -> None:
    """Raise a `ValueError` that says what is wrong with a task, or return.

    Evaluates `n` uniform genotypes and checks: shapes and types; descriptors inside the behavior
    space and finite fitness; the same bits for the same genotypes and key; row i depends on
    genotype i alone (in another order, beside others, in batches of `sizes`, by default n - 1); a
    traceable task gives compiled what it gives uncompiled. A simulator of exactly 64 worlds is
    checked by `check_task(task, n=64, sizes=())`.

    Batches may round differently: all rows must agree to 0.1 %, in a smaller batch, or compiled,
    half of them.

    Args:
        task: the task.
        n: how many genotypes are evaluated at once.
        sizes: of other batches of the same genotypes; by default one of n - 1.
        tolerance: how far a genotype may be from itself, as a share of the box or of the fitness,
            for simulators that add in any order, such as physics on a GPU (about 1e-5).

    Raises:
        ValueError: with the first of these that does not hold, and what to do.
    """
    check_part("task", task, Task)
    name, box = type(task).__name__, task.behavior_space
    for space in (task.genotype_space, box):
        if not isinstance(space, Box):
            raise ValueError(
                f"{name}.genotype_space and {name}.behavior_space must be a brns.Box; got {space!r}"
            )
    draw, key = jax.random.split(jax.random.key(0))
    genotypes = task.genotype_space.uniform(draw, n)
    first = validate_evaluation(task.evaluate(genotypes, key), n, task)
    living = ~np.asarray(first.failed)
    finite = np.isfinite(first.descriptor).all(axis=1) & np.isfinite(first.fitness)
    if not finite[living].all():
        raise ValueError(
            f"{name}.evaluate gave a descriptor or fitness that is not finite for genotypes in "
            "the box"
        )
    inside = ((first.descriptor >= box.low) & (first.descriptor <= box.high)).all(axis=1)
    outside = ~np.asarray(inside) & living
    if outside.any():
        raise ValueError(
            f"{name}.evaluate gave {outside.sum()} of {n} descriptors outside behavior_space, "
            f"such as {np.asarray(first.descriptor)[outside][0]}; widen the box or clip the "
            "descriptor"
        )
    near = {"share": max(tolerance, 1e-3), "least": max(tolerance, 1e-6)}
    again = validate_evaluation(task.evaluate(genotypes, key), n, task)
    if not _agree(task, again, first, tolerance, tolerance).all():
        raise ValueError(
            f"{name}.evaluate must give the same result for the same genotypes and key; where a "
            "simulator cannot, give check_task the tolerance that it needs"
        )
    for where, batch, row in _batches(task, genotypes, [n - 1] if sizes is None else sizes):
        got = validate_evaluation(task.evaluate(batch, key), len(batch), task)
        agree = _agree(
            task,
            take(got, jnp.flatnonzero(row >= 0)),
            take(first, jnp.asarray(row[row >= 0])),
            **near,
        )
        if agree.mean() < (1 if len(batch) == n else 0.5):
            raise ValueError(
                f"row i of {name}.evaluate must depend on genotype i and the key alone, not on "
                f"its place or its neighbours; {(~agree).sum()} of {agree.size} genotypes gave "
                f"something else {where}"
            )
    if task.traceable:
        try:
            compiled = jax.jit(
                lambda genotypes, key: validate_evaluation(task.evaluate(genotypes, key), n, task)
            )(genotypes, key)
        except NOT_JAX as error:
            raise ValueError(f"{name}: {TRACED} ({error})") from None
        if _agree(task, compiled, first, **near).mean() < 0.5:
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
    fixed = rows % 2 == 0
    beside = jnp.where(fixed[:, None], genotypes, task.genotype_space.uniform(jax.random.key(1), n))
    return [
        ("in another order", genotypes[moved], moved),
        ("beside other genotypes", beside, np.where(fixed, rows, -1)),
        *((f"in a batch of {size}", genotypes[:size], rows[:size]) for size in sizes),
    ]


def _agree(task: Task, a: Evaluation, b: Evaluation, share: float, least: float) -> np.ndarray:
    """The rows in which two evaluations agree: descriptors to a share of the box, fitness as well,
    success exactly.

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

    Runs three generations of `n` + `n` random behaviors in [0, 1]^dimension, twice, and checks:
    init, score and update compile with the estimator as an argument, as the search compiles them;
    novelty has shape `(n,)` and is finite; the state keeps its structure, shapes and types; the
    same key gives the same bits; and a descriptor's novelty does not depend on its row or on how
    many others are asked about, also for a population of another size.

    Args:
        estimator: the novelty estimator.
        dimension: of the behaviors.
        n: how many parents, and as many offspring, a generation has.

    Raises:
        ValueError: with the first of these that does not hold.
    """
    check_part("estimator", estimator, NoveltyEstimator)
    name = type(estimator).__name__
    try:
        (state, union), again = (_run_three_generations(estimator, dimension, n) for _ in range(2))
        if not eqx.tree_equal((state, union), again):
            raise ValueError(
                f"{name} must give the same state and the same novelty for the same key, to the bit"
            )
        order = np.random.default_rng(0).permutation(2 * n)
        novelty = _call_jit(estimator, "score", state, union.descriptor, union)
        permuted = _call_jit(estimator, "score", state, union.descriptor[order], union)
        living = take(union, slice(n + n // 2))  # another size of population than the loop's
        together = _call_jit(estimator, "score", state, union.descriptor, living)
        three = _call_jit(estimator, "score", state, union.descriptor[-3:], living)
    except NOT_JAX as error:
        raise ValueError(
            f"{name}.init, score and update must be JAX code that compiles with the estimator as "
            f"an argument; {type(error).__name__}: {error}"
        ) from error
    _check_close(
        permuted, novelty[order], f"{name}.score must permute novelty when descriptors are permuted"
    )
    _check_close(
        three,
        together[-3:],
        f"{name}.score of a descriptor must not depend on what else is asked about",
    )


def check_mutation(mutate: Mutation, box: Box, n: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with a mutation, or return.

    Args:
        mutate: the variation operator.
        box: a genotype space, such as `task.genotype_space`.
        n: how many genotypes it varies at once; two of them stand on corners of the box,
            and it must vary one alone.

    Raises:
        ValueError: where it does not compile, as the search compiles it; where mutants have another
            shape than the genotypes, or lie outside the box; and where the same key gives others.
    """
    check_part("mutate", mutate, Mutation)
    corners = jnp.stack([box.low, box.high])
    genotypes = jnp.concatenate([corners, box.uniform(jax.random.key(0), n)])[:n]
    for key in jax.random.split(jax.random.key(1), 4):
        for batch in (genotypes, genotypes[:1]):
            mutants, again = (_operated("mutate", mutate, key, batch, box) for _ in range(2))
            check_shape("mutate", mutate, mutants, batch.shape)
            check_inside("mutate", mutate, mutants, box)
            _refuse_unequal("mutate", mutate, mutants, again, "the same genotypes and key")
    anew = _operated("mutate", eqx.Partial(mutate), key, batch, box)
    _refuse_unequal("mutate", mutate, mutants, anew, "the same genotypes and key, compiled anew")


def check_founders(founders: Founders, box: Box, n: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with founders, or return.

    Args:
        founders: what draws them.
        box: a genotype space, such as `task.genotype_space`.
        n: how many are drawn, such as the search's `population_size`.

    Raises:
        ValueError: where they are not of shape `(n, p)`, lie outside the box,
            or are others for the same key.
    """
    check_part("founders", founders, Founders)
    for key in jax.random.split(jax.random.key(0), 4):
        drawn, again = (founders(key, n, box) for _ in range(2))
        check_shape("founders", founders, drawn, (n, box.dimension))
        check_inside("founders", founders, drawn, box)
        _refuse_unequal("founders", founders, drawn, again, "the same key")


def check_selection(select: Selection, size: int = 8) -> None:
    """Raise a `ValueError` that says what is wrong with a selection, or return.

    It selects from twice as many with random novelty and fitness,
    and where all of both are the same.

    Args:
        select: the survivor selection.
        size: how many live on.

    Raises:
        ValueError: where it does not compile, as the search compiles it; where its rows are not
            `size` distinct integers from 0 on within the population; and where the same population
            gives others.
    """
    check_part("select", select, Selection)
    random = np.random.default_rng(0).normal(size=(4, 2 * size)).astype(np.float32)
    parents, offspring = (
        Population.from_descriptors(random[:2, :size].T),
        Population.from_descriptors(random[:2, size:].T, 1, size),
    )
    alike = unite(parents, offspring)
    unlike = alike._replace(novelty=jnp.abs(random[2]), fitness=jnp.asarray(random[3]))
    for union in (unlike, alike):
        rows, again = (_operated("select", select, union, size) for _ in range(2))
        refuse_rows(select, rows, size)
        outside = np.asarray((rows < 0) | (rows >= 2 * size))
        if outside.any():
            raise ValueError(
                f"select must give rows from 0 to {2 * size - 1} of a population of {2 * size}; "
                f"{_name(select)} gave {np.asarray(rows)[outside][0]}"
            )
        refuse_twice(select, take(union, rows))
        _refuse_unequal("select", select, rows, again, "the same population")
    anew = _operated("select", eqx.Partial(select), union, size)
    _refuse_unequal("select", select, rows, anew, "the same population, compiled anew")


@eqx.filter_jit
def _compiled_operator(operator: Any, *arguments: Any) -> Any:
    return operator(*arguments)


def _operated(name: str, operator: Any, *arguments: Any) -> Any:
    """What an operator gives, compiled as the search compiles it."""
    try:
        return _compiled_operator(operator, *arguments)
    except NOT_JAX as error:
        raise ValueError(
            f"{name} must be JAX code that compiles; {_name(operator)} gave "
            f"{type(error).__name__}: {error}"
        ) from error


def _refuse_unequal(name: str, operator: Any, result: Any, again: Any, same: str) -> None:
    if not np.array_equal(result, again):
        raise ValueError(f"{name} must give the same for {same}; {_name(operator)} did not")


def _run_three_generations(
    estimator: NoveltyEstimator, dimension: int, n: int
) -> tuple[PyTree, Population]:
    space = Box([0.0] * dimension, [1.0] * dimension)
    begin, first, *keys = jax.random.split(jax.random.key(0), 8)
    state = _call_jit(estimator, "init", space, begin)
    parents = union = Population.from_descriptors(space.uniform(first, n))
    for g, born, learn in zip(range(1, 4), keys[::2], keys[1::2], strict=True):
        offspring = Population.from_descriptors(space.uniform(born, n), g, g * n)
        union = unite(parents, offspring)
        union = union._replace(
            novelty=_call_jit(estimator, "score", state, union.descriptor, union)
        )
        if not np.isfinite(union.novelty).all():
            raise ValueError(
                f"{type(estimator).__name__}.score gave novelty that is not finite in generation "
                f"{g}"
            )
        survivors = take(union, jnp.argsort(-union.novelty, stable=True)[:n])
        generation = Generation(take(union, slice(n)), take(union, slice(n, None)), survivors)
        learned = _call_jit(estimator, "update", state, generation, learn)
        check_structure(estimator, state, learned)
        state, parents = learned, survivors
    return state, union


@eqx.filter_jit
def _call_jit(estimator: NoveltyEstimator, method: str, *arguments: Any) -> Any:
    """What a method gives, compiled as the search compiles it."""
    if method == "score":
        return score_novelty(estimator, *arguments)
    with in_float32():
        return getattr(estimator, method)(*arguments)


def _check_close(actual: Any, expected: Any, law: str) -> None:
    if not np.allclose(actual, expected, rtol=1e-4, atol=1e-5 * float(np.max(np.abs(expected)))):
        raise ValueError(f"{law}; it gave {actual[:3]} in place of {expected[:3]}")
