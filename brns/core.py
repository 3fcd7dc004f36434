"""The nouns of novelty search, the contracts between its parts, and the checks of those contracts."""

import difflib
import math
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from brns.settings import Kind, parts, shown

T = TypeVar("T")


def columns(rows: Any) -> str:
    """A tuple of arrays by name, with types and shapes in place of numbers: `descriptor=float32[100, 2]`."""
    if not isinstance(rows, tuple) or not hasattr(rows, "_fields"):
        return shown(rows)
    return f"{type(rows).__name__}({', '.join(f'{name}={columns(getattr(rows, name))}' for name in rows._fields)})"


class Box(eqx.Module):
    r"""A closed box $[low_1, high_1] \times \dots \times [low_d, high_d]$: a genotype space or a behavior space.

    `low`, `high`: `(d,)`, float32, finite, `low < high` in every dimension; anything else is a `ValueError`.
    """

    low: Float[Array, " d"]
    high: Float[Array, " d"]

    def __init__(self, low: Any, high: Any):
        low, high = np.atleast_1d(np.asarray(low, np.float32)), np.atleast_1d(np.asarray(high, np.float32))
        if low.ndim != 1 or low.shape != high.shape or not low.size:
            raise ValueError(
                f"a box needs low and high of one shape (d,), d at least 1; got {low.shape} and {high.shape}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            wrong = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high - low) & (low < high)))
        if wrong.size:
            i = wrong[0]
            raise ValueError(
                f"a box needs finite low < high in every dimension, and a finite width, in float32; dimension {i} has "
                f"low={low[i]}, high={high[i]}"
            )
        self.low, self.high = jnp.asarray(low), jnp.asarray(high)

    @property
    def dimension(self) -> int:
        return self.low.shape[-1]

    def uniform(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """`n` points drawn uniformly from the box."""
        return jax.random.uniform(key, (n, self.dimension), minval=self.low, maxval=self.high)


class Evaluation(NamedTuple):
    """What a task says about n genotypes. Row i speaks of genotype i."""

    descriptor: Float[Array, "n d"]
    """behavior, in the units of `task.behavior_space`"""
    fitness: Float[Array, " n"]
    """the task's own reward; zeros where there is none"""
    solved: Bool[Array, " n"]
    """the success criterion $T_s$ of Algorithm 1"""
    __repr__ = columns


class Population(NamedTuple):
    """Individuals as columns: row i of each column is individual i. Read back from a record, they are NumPy arrays."""

    genotype: Float[Array, "n p"]
    descriptor: Float[Array, "n d"]
    fitness: Float[Array, " n"]
    solved: Bool[Array, " n"]
    novelty: Float[Array, " n"]
    """as last scored, in the estimator's own unit"""
    id: Int[Array, " n"]
    """unique within a run: founders 0 ... mu-1, then every offspring in order of birth"""
    parent: Int[Array, " n"]
    """the id of the parent; -1 for founders"""
    born: Int[Array, " n"]
    """the generation of birth; 0 for founders"""
    __repr__ = columns


class Generation(NamedTuple):
    """One generation's facts: read by estimator, record and metrics alike.

    `parents` and `offspring` carry the novelty by which they were selected; `survivors` are the rows selected from
    their union. Generation 0 has no parents: there the founders are the offspring and the survivors.
    """

    parents: Population
    offspring: Population
    survivors: Population
    __repr__ = columns


@runtime_checkable
class Task(Protocol):
    """A world: what genotypes do in it.

    `traceable` says that `evaluate` is JAX code, so that it can be compiled into the loop and batched over seeds.
    Code on the host (MuJoCo, Gymnasium, NumPy) sets it to False and is called once a generation with the whole batch.
    Row i of the answer must depend on row i of `genotypes` and on `key` alone.
    """

    @property
    def genotype_space(self) -> Box: ...
    @property
    def behavior_space(self) -> Box: ...
    @property
    def traceable(self) -> bool: ...

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """What the genotypes do: an `Evaluation` whose row i speaks of row i of `genotypes`.

        Shapes: genotypes `(n, p)` within `genotype_space`, float32, for any n; descriptors `(n, d)` in the units of
        `behavior_space`, which they may leave, though `check_task` refuses it, since grids count what is outside at
        their border; fitness and solved `(n,)`. The same genotype and key give the same
        answer. `key` is another one in every generation and all of a task's chance; chance of an individual's own
        comes from its genotype folded into the key.

        Errors: a wrong shape is a `ValueError` of the search; what is not finite ends a run with one, before the
        generation is saved. What `evaluate` itself raises ends the run as it is; the generations before are on disk.
        """
        ...


@runtime_checkable
class NoveltyEstimator(Protocol):
    r"""A novelty function that learns from the generations that pass: $\Omega^g$ in the paper's section 4.

    `init` makes its state for a behavior space. `score` gives the novelty of descriptors, given the state and the
    population that lives now: it is pure, and the loop, $Q(i, j)$, the pictures and the benchmarks all call it.
    `update` folds one generation into the state. All three are JAX code, and a state is a tree of arrays whose
    shapes never change.
    """

    def init(self, space: Box, key: Key[Array, ""]) -> PyTree:
        """The state before anything was seen, for descriptors of `space.dimension` dimensions in the units of `space`.

        A tree of arrays of fixed shapes: what may grow has its capacity from the start. All chance comes from `key`.
        """
        ...

    def score(self, state: PyTree, descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        """The novelty `(n,)` of descriptors `(n, d)`: higher is more novel, finite, in the estimator's own unit.

        `population` is who lives now, and may be who is scored: the loop scores the union of parents and offspring
        against itself. Pure, and the same novelty for the same descriptor wherever it stands in the batch. The loop
        refuses another shape, and a run ends where a novelty is not finite, both with a `ValueError`.
        """
        ...

    def update(self, state: PyTree, generation: Generation, key: Key[Array, ""]) -> PyTree:
        """The state after one more generation was seen, with the structure, shapes and types of the one before.

        Called once a generation, after selection; `key` is another one each time. Of `generation.parents` and
        `offspring` novelty is what they were selected by. A state of another structure is a `ValueError` of the search.
        """
        ...


@runtime_checkable
class Founders(Protocol):
    """The genotypes of generation 0: `n` of them, all inside the box."""

    def __call__(self, key: Key[Array, ""], n: int, box: Box) -> Float[Array, "n p"]: ...


@runtime_checkable
class Mutation(Protocol):
    """Variation: genotypes in, as many mutants out, all inside the box."""

    def __call__(self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box) -> Float[Array, "n p"]: ...


@runtime_checkable
class Selection(Protocol):
    """Survivor selection: the rows of the `size` individuals of `population` that live on."""

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]: ...


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
        raise ValueError(f"{name} must give an array of shape {wanted}; {shown(part)} gave {jnp.shape(found)}")


def refuse_threshold(part: str, threshold: float | None) -> None:
    """A `ValueError` for a threshold that no novelty is above, or that is no number."""
    if threshold is not None and not math.isfinite(threshold):
        raise ValueError(f"{part}.threshold must be a finite number, or None for none; got {threshold}")


def refuse_length(task: Task, genotypes: Any) -> None:
    """A `ValueError` where genotypes are not of the task's length, which arithmetic might stretch to fit."""
    wanted = task.genotype_space.dimension
    if jnp.ndim(genotypes) != 2 or jnp.shape(genotypes)[1] != wanted:
        raise ValueError(
            f"{type(task).__name__} takes genotypes of shape (n, {wanted}); got shape {jnp.shape(genotypes)}"
        )


def refuse_outside(founders: Float[Array, "n p"], space: Box) -> None:
    """A `ValueError` where founders lie outside the genotype space or are no numbers, if they are known yet."""
    if not isinstance(founders, Tracer):
        outside = int((~((founders >= space.low) & (founders <= space.high))).any(axis=1).sum())
        if outside:
            raise ValueError(
                f"{outside} of {len(founders)} founders lie outside the genotype space; clip them to its bounds"
            )


def take(columns: T, rows: Int[Array, "..."] | slice | int) -> T:
    """The given rows of every column."""
    return jax.tree.map(lambda column: column[rows], columns)


def unite(parents: Population, offspring: Population) -> Population:
    """Parents and offspring as one population, the parents' rows first."""
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), parents, offspring)


def individuals(descriptors: Any, born: Any = 0, first: Any = 0) -> Population:
    """Behaviors and nothing else as a population: genotypes, fitness and novelty are zeros, and nobody has parents.

    `descriptors` `(n, d)` are of NumPy or any other kind; `born` is the generation of all, `first` the id of row 0.
    """
    descriptor = jnp.asarray(descriptors, jnp.float32)
    if descriptor.ndim != 2:
        raise ValueError(f"individuals need descriptors of shape (n, d); got {descriptor.shape}")
    n = len(descriptor)
    return Population(
        genotype=jnp.zeros((n, 1)),
        descriptor=descriptor,
        fitness=jnp.zeros(n),
        solved=jnp.zeros(n, bool),
        novelty=jnp.zeros(n),
        id=jnp.asarray(first + np.arange(n), jnp.int32),
        parent=jnp.full(n, -1, jnp.int32),
        born=jnp.full(n, born, jnp.int32),
    )


def observed(descriptors: Any, number: int) -> Generation:
    """Behaviors and nothing else as a generation, for estimators in a loop that is not ours.

    `descriptors` `(n, d)`, of NumPy or any other kind, are the `number`-th batch of a stream, from 1 on. They become
    the offspring and the survivors, born in that generation and without parents, as `individuals` has them. Ids go on
    from batch to batch where all have n rows; an archive tells individuals apart by them.
    """
    if number < 1:
        raise ValueError(f"observed needs a batch's number from 1 on; got {number}")
    descriptor = np.asarray(descriptors, np.float32)
    batch = individuals(descriptor, number, (number - 1) * len(descriptor) if descriptor.ndim else 0)
    return Generation(parents=take(batch, slice(0)), offspring=batch, survivors=batch)


def scored(
    estimator: Any, state: PyTree, descriptors: Float[Array, "n d"], population: Population
) -> Float[Array, " n"]:
    r"""$\Omega^g$ of descriptors by whatever has an estimator's `score`; a `ValueError` where the shape is another."""
    novelty = estimator.score(state, descriptors, population)
    if jnp.shape(novelty) != descriptors.shape[:1]:
        raise ValueError(
            f"{type(estimator).__name__}.score of {descriptors.shape[0]} descriptors must return novelty of shape "
            f"{descriptors.shape[:1]}; got {jnp.shape(novelty)}"
        )
    return jnp.asarray(novelty, jnp.float32)


@eqx.filter_jit
def novelty_of(
    estimator: Any, state: PyTree, descriptors: Float[Array, "n d"], population: Population
) -> Float[Array, " n"]:
    """`scored`, compiled: for measures and pictures, which ask again and again."""
    return scored(estimator, state, descriptors, population)


def conform(evaluation: Any, n: int, task: Task) -> Evaluation:
    """The evaluation as float32 and bool columns; a `ValueError` that names the task where it is none of n genotypes.

    `solved` is bools, or exact zeros and ones where the task is no JAX code.
    """
    name, d = type(task).__name__, task.behavior_space.dimension
    if not isinstance(evaluation, Evaluation):
        raise ValueError(f"{name}.evaluate must return a brns.Evaluation; got {type(evaluation).__name__}")
    for column, shape in {"descriptor": (n, d), "fitness": (n,), "solved": (n,)}.items():
        values = getattr(evaluation, column)
        if np.shape(values) != shape:
            raise ValueError(
                f"{name}.evaluate of {n} genotypes must return {column} of shape {shape}; got {np.shape(values)}"
            )
        kind = values.dtype if isinstance(values, jax.Array | np.ndarray) else np.asarray(values).dtype
        real = (
            jnp.issubdtype(kind, jnp.bool_) or jnp.issubdtype(kind, jnp.integer) or jnp.issubdtype(kind, jnp.floating)
        )
        if np.ma.isMaskedArray(values) or not real:
            got = "a masked array" if np.ma.isMaskedArray(values) else str(kind)
            raise ValueError(f"{name}.evaluate must return {column} as real numbers, none masked; got {got}")
    if not isinstance(evaluation.solved, jax.Array | np.ndarray):
        evaluation = evaluation._replace(solved=np.asarray(evaluation.solved))
    if not _bools(evaluation.solved):
        raise ValueError(
            f"{name}.evaluate must return solved as bools; got {jnp.result_type(evaluation.solved)}: compare it with "
            "what counts as success, as in distance < 40"
        )
    return Evaluation(
        jnp.asarray(evaluation.descriptor, jnp.float32),
        jnp.asarray(evaluation.fitness, jnp.float32),
        jnp.asarray(evaluation.solved, bool),
    )


def _bools(values: Any) -> bool:
    """Whether these are bools, or zeros and ones. Of numbers within compiled code nothing is known."""
    if jnp.issubdtype(jnp.result_type(values), jnp.bool_):
        return True
    return not isinstance(values, Tracer) and bool(np.isin(np.asarray(values), (0, 1)).all())


def same_structure(estimator: NoveltyEstimator, before: PyTree, after: PyTree) -> None:
    """A `ValueError` where an estimator's `update` changed the structure, shapes or types of its state."""

    def shapes(tree):
        leaves, structure = jax.tree.flatten(tree)
        return structure, [(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]

    if shapes(before) != shapes(after):
        raise ValueError(
            f"{type(estimator).__name__}.update must return a state of the same structure, shapes and types as init's; "
            f"got\n{shapes(after)}\nafter\n{shapes(before)}"
        )
