"""The nouns of novelty search, and the contracts between its parts."""

import contextlib
from collections.abc import Generator, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

T = TypeVar("T")

WIDEST = 1e30  # of a box's bounds; a box is at least 1 / WIDEST wide


def columns(rows: Any) -> str:
    """A tuple of arrays by name, with types and shapes in place of numbers:
    `descriptor=float32[100, 2]`.

    Args:
        rows: a NamedTuple of arrays, possibly nested, or one array.
    """
    if not isinstance(rows, tuple):
        return f"{jnp.result_type(rows)}{list(jnp.shape(rows))}"
    fields = (f"{name}={columns(value)}" for name, value in zip(rows._fields, rows, strict=True))
    return f"{type(rows).__name__}({', '.join(fields)})"


class Box(eqx.Module):
    r"""A closed box $[low_1, high_1] \times \dots \times [low_d, high_d]$:
    a genotype space or a behavior space.

    Args:
        low: the least values, `(d,)`, kept in float32.
        high: the largest, above `low` in every dimension.

    Raises:
        ValueError: where they differ in shape, reach beyond 1e30,
            or lie less than 1e-30 apart in float32.
    """

    low: Float[Array, " d"]
    high: Float[Array, " d"]

    def __init__(self, low: Any, high: Any):
        low, high = (np.atleast_1d(np.asarray(bound, np.float32)) for bound in (low, high))
        if low.ndim != 1 or low.shape != high.shape or not low.size:
            raise ValueError(
                f"a box needs low and high of one shape (d,), d >= 1; got {low.shape} and "
                f"{high.shape}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            width = high - low
        # Shares of widths, and sums and squares of such shares, are numbers of float32 then.
        if not ((np.abs(low) <= WIDEST) & (np.abs(high) <= WIDEST) & (width >= 1 / WIDEST)).all():
            raise ValueError(
                f"a box needs low < high, within {WIDEST:g} of 0 and at least {1 / WIDEST:g} "
                f"apart in float32; got {low}, {high}; give genes and behaviors in another unit"
            )
        self.low, self.high = jnp.asarray(low), jnp.asarray(high)

    @property
    def dimension(self) -> int:
        return self.low.shape[-1]

    def uniform(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """`n` points drawn uniformly from the box.

        Args:
            key: all chance comes from it.
            n: how many.

        Returns:
            `(n, d)` in float32.
        """
        shape = (n, self.dimension)
        return jax.random.uniform(key, shape, jnp.float32, minval=self.low, maxval=self.high)


class Evaluation(NamedTuple):
    """What a task says about n genotypes. Row i speaks of genotype i."""

    descriptor: Float[Array, "n d"]
    """behavior, in the units of `task.behavior_space`"""
    fitness: Float[Array, " n"] = 0.0  # ty: ignore[invalid-assignment]
    """the task's own reward; by default zeros"""
    solved: Bool[Array, " n"] = False  # ty: ignore[invalid-assignment]
    """the success criterion $T_s$ of Algorithm 1; by default nobody has"""
    failed: Bool[Array, " n"] = False  # ty: ignore[invalid-assignment]
    """who could not be evaluated: never learned, never selected;
    the rest of such a row may be anything"""
    __repr__ = columns


class Population(NamedTuple):
    """Individuals as columns: row i of each column is individual i. Read back from a record,
    they are NumPy arrays.
    """

    genotype: Float[Array, "n p"]
    """the numbers that the search varies"""
    descriptor: Float[Array, "n d"]
    """behavior, in the units of `task.behavior_space`"""
    fitness: Float[Array, " n"]
    """the task's own reward"""
    solved: Bool[Array, " n"]
    """whether it meets the task's criterion"""
    novelty: Float[Array, " n"]
    """as last scored, in the estimator's own unit"""
    id: Int[Array, " n"]
    """unique within a run: founders 0 ... mu-1, then every offspring in order of birth"""
    parent: Int[Array, " n"]
    """the id of the parent; -1 for founders"""
    mate: Int[Array, " n"]
    """the id of the second parent, of whom a crossover took genes or towards whom a line led;
    -1 where there is none"""
    operator: Int[Array, " n"]
    """the number of the operator of a `MixedMutation` that made it, from 0; -1 for founders"""
    born: Int[Array, " n"]
    """the generation of birth; 0 for founders"""
    failed: Bool[Array, " n"]
    """who could not be evaluated: offspring, never survivors; what they did is NaN in a record"""
    __repr__ = columns

    @classmethod
    def from_descriptors(cls, descriptors: Any, born: Any = 0, first: Any = 0) -> "Population":
        """Behaviors and nothing else as a population: genotypes, fitness and novelty are zeros, and
        nobody has parents.

        Args:
            descriptors: `(n, d)`, of NumPy or any other kind.
            born: the generation of all.
            first: the id of row 0; the others' follow.

        Raises:
            ValueError: for descriptors of another shape.
        """
        descriptor = jnp.asarray(descriptors, jnp.float32)
        if descriptor.ndim != 2:
            raise ValueError(
                f"a population needs descriptors of shape (n, d); got {descriptor.shape}"
            )
        n = len(descriptor)
        nobody = jnp.zeros(n, bool)
        evaluation = Evaluation(descriptor, jnp.zeros(n, jnp.float32), nobody, nobody)
        return make_individuals(jnp.zeros((n, 1), jnp.float32), evaluation, first, born)


class Generation(NamedTuple):
    """One generation's facts: read by estimator, record and metrics alike.

    `parents` and `offspring` carry the novelty by which they were selected; `survivors` are the
    rows selected from their union. Generation 0 has no parents: there the founders are the
    offspring and the survivors.
    """

    parents: Population
    offspring: Population
    survivors: Population
    __repr__ = columns

    @classmethod
    def from_descriptors(cls, descriptors: Any, number: int) -> "Generation":
        """Behaviors and nothing else as a generation, for estimators in a loop that is not ours.

        They become the offspring and the survivors. Ids go on from batch to batch where all have n
        rows.

        Args:
            descriptors: `(n, d)`, of NumPy or any other kind.
            number: of the batch in its stream, from 1 on.

        Returns:
            A generation without parents.

        Raises:
            ValueError: for a number below 1 or descriptors of another shape.
        """
        if number < 1:
            raise ValueError(
                f"a generation from descriptors needs a batch's number from 1 on; got {number}"
            )
        return initial_generation(
            Population.from_descriptors(descriptors, number, (number - 1) * len(descriptors))
        )


@runtime_checkable
class Task(Protocol):
    """A world: what genotypes do in it.

    `traceable` says that `evaluate` is JAX code, so that it can be compiled into the loop and
    batched over seeds. Code on the host (MuJoCo, Gymnasium, NumPy) sets it to False and is called
    once a generation with the whole batch.
    """

    @property
    def genotype_space(self) -> Box: ...
    @property
    def behavior_space(self) -> Box: ...
    @property
    def traceable(self) -> bool: ...

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """What the genotypes do. Row i depends on row i of `genotypes` and on `key` alone.

        In a run, what is not finite is a `ValueError` before the generation is saved; but for rows
        that the evaluation's `failed` names.

        Args:
            genotypes: `(n, p)` within `genotype_space`, float32, for any n.
            key: another one in every generation and all of a task's chance; chance of an
                individual's own comes from its genotype folded into the key.

        Returns:
            An evaluation with descriptors `(n, d)` in the units of `behavior_space`; grids count
            what lies outside at their border. Another shape is a `ValueError`.
        """
        ...


@runtime_checkable
class NoveltyEstimator(Protocol):
    r"""A novelty function that learns from the generations that pass:
    $\Omega^g$ in the paper's section 4.

    All three methods are JAX code, and a state is a tree of arrays whose shapes never change.
    `score` is pure: the loop, $Q(i, j)$, the pictures and the benchmarks all call it.
    """

    def init(self, space: Box, key: Key[Array, ""]) -> PyTree:
        """The state before anything was seen.

        Args:
            space: where behaviors lie; descriptors are `(n, space.dimension)` in its units.
            key: for what is random.

        Returns:
            A tree of arrays. What may grow has its capacity from the start.
        """
        ...

    def score(
        self, state: PyTree, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """The novelty of descriptors: higher is more novel, in the estimator's own unit.

        The same descriptor has the same novelty wherever it stands in the batch.

        Args:
            state: as `init` or `update` gave it.
            descriptors: `(n, d)` in the units of the space.
            population: who lives now, and may be who is scored: the loop scores the union of
                parents and offspring against itself. Rows of `population.failed` count for nothing;
                their descriptors are a parent's, so that no number is NaN.

        Returns:
            Novelty `(n,)`, finite.
        """
        ...

    def update(self, state: PyTree, generation: Generation, key: Key[Array, ""]) -> PyTree:
        """The state after one more generation was seen. Called once a generation, after selection.

        Args:
            state: of the generation before.
            generation: who was born and who survived. Rows of `offspring.failed` are not learned.
            key: another one in each generation.

        Returns:
            A state with the structure, shapes and types of the one before.
        """
        ...


@runtime_checkable
class Compactable(Protocol):
    """An estimator part of whose state follows from the descriptors it has learned:
    a run keeps the rest alone.
    """

    def compact(self, state: PyTree) -> PyTree:
        """The state without what follows from the descriptors.

        Args:
            state: the whole state.

        Returns:
            What a run saves.
        """
        ...

    def restore(self, state: PyTree, descriptors: Iterable[np.ndarray]) -> PyTree:
        """The whole state again, to the same bits.

        Args:
            state: as `compact` gave it.
            descriptors: of those born in each generation, `(n, d)`, from generation 0 on, without
                those who failed.
        """
        ...


@runtime_checkable
class Founders(Protocol):
    """The genotypes of generation 0: `n` of them, all inside the box."""

    def __call__(self, key: Key[Array, ""], n: int, box: Box) -> Float[Array, "n p"]:
        """Draw founders.

        Args:
            key: all chance comes from it.
            n: how many.
            box: the genotype space.

        Returns:
            Their genotypes, `(n, p)`, inside the box.
        """


@runtime_checkable
class Mutation(Protocol):
    """Variation: genotypes in, as many mutants out, all inside the box."""

    def __call__(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> Float[Array, "n p"]:
        """Vary genotypes.

        Args:
            key: all chance comes from it.
            genotypes: of the parents, `(n, p)`.
            box: the genotype space.

        Returns:
            Row i is the mutant of row i, inside the box.
        """


@runtime_checkable
class Recombination(Protocol):
    """A `Mutation` that takes from a second parent too, and can say from whom:
    so a record knows both.
    """

    def recombine(
        self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box
    ) -> tuple[Float[Array, "n p"], Int[Array, " n"]]:
        """What `__call__` gives of the same arguments, and the second parents.

        Args:
            key: all chance comes from it.
            genotypes: of the parents, `(n, p)`.
            box: the genotype space.

        Returns:
            The mutants, and for each the row of its second parent in `genotypes`, or -1.
        """
        ...


@runtime_checkable
class Selection(Protocol):
    """Survivor selection: the rows of the `size` individuals of `population` that live on."""

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        """Select survivors.

        Args:
            population: parents and offspring with their novelty.
            size: how many live on.

        Returns:
            Their rows, each at most once.
        """


def validate_evaluation(evaluation: Any, n: int, task: Task) -> Evaluation:
    """The evaluation as float32 and bool columns.

    One value of fitness, `solved` or `failed` is everyone's; None, as of a task without a fitness,
    is the default.

    Args:
        evaluation: what the task returned.
        n: how many genotypes it was given.
        task: by which errors are named.

    Returns:
        An evaluation whose columns have n rows.

    Raises:
        ValueError: where it is no evaluation of n genotypes.
    """
    must = f"{type(task).__name__}.evaluate of {n} genotypes must return"
    if not isinstance(evaluation, Evaluation):
        raise ValueError(f"{must} a brns.Evaluation; got {type(evaluation).__name__}")
    columns = {"descriptor": _numbers("descriptor", evaluation.descriptor, must)}
    for name, default in Evaluation._field_defaults.items():
        value = getattr(evaluation, name)
        column = _numbers(name, default if value is None else value, must)
        columns[name] = column if column.ndim else jnp.full(n, column)
    for name, column in columns.items():
        shape = (n, task.behavior_space.dimension) if name == "descriptor" else (n,)
        if column.shape != shape:
            raise ValueError(f"{must} {name} of shape {shape}; got {column.shape}")
    for name in ("solved", "failed"):
        if columns[name].dtype != bool:
            raise ValueError(
                f"{must} {name} as bools, as in distance < 40; got {columns[name].dtype}"
            )
    return Evaluation(
        jnp.asarray(columns["descriptor"], jnp.float32),
        jnp.asarray(columns["fitness"], jnp.float32),
        jnp.asarray(columns["solved"]),
        jnp.asarray(columns["failed"]),
    )


def _numbers(name: str, values: Any, must: str) -> Any:
    """The column of an evaluation as an array;
    a `ValueError` that says what it is where it is no real numbers.
    """
    if isinstance(values, jax.Array):
        column = values
    else:
        try:
            column = np.asarray(values)
        except ValueError:  # NumPy's words on rows of unequal length name neither task nor column
            raise ValueError(
                f"{must} {name} as one array; got {_shapes(values)}: the rows must be of one shape"
            ) from None
    if column.dtype.kind not in "biuf":
        what = _shapes(values) if column.dtype == object else str(column.dtype)
        raise ValueError(f"{must} {name} as real numbers; got {what}")
    return column


def _shapes(values: Any) -> str:
    """What a sequence that is no array of numbers holds, by its first three."""
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        return type(values).__name__
    first = []
    for value in list(values)[:3]:
        shape = f" of shape {np.shape(value)}" if isinstance(value, np.ndarray | jax.Array) else ""
        length = f" of {len(value)}" if isinstance(value, list | tuple) else ""
        first.append(f"{type(value).__name__}{shape}{length}")
    return f"{type(values).__name__} of {', '.join(first)}{', ...' if len(values) > 3 else ''}"


def check_shape(name: str, part: Any, actual: Any, expected: tuple[int, ...]) -> None:
    """Check the shape of what an operator gave.

    Args:
        name: of the operator's setting, such as `founders`.
        part: the operator.
        actual: what it gave.
        expected: the shape that the search needs.

    Raises:
        ValueError: for another shape.
    """
    if jnp.shape(actual) != expected:
        whose = getattr(part, "__name__", type(part).__name__)
        raise ValueError(
            f"{name} must give an array of shape {expected}; {whose} gave {jnp.shape(actual)}"
        )


def take(columns: T, rows: Int[Array, "..."] | slice | int) -> T:
    """The given rows of every column.

    Args:
        columns: a NamedTuple of arrays, such as a population.
        rows: indices, a slice, or one index.
    """
    return jax.tree.map(lambda column: column[rows], columns)


def unite(parents: Population, offspring: Population) -> Population:
    """Parents and offspring as one population, the parents' rows first."""
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), parents, offspring)


def make_individuals(
    genotype: Float[Array, "n p"],
    evaluation: Evaluation,
    first: Any,
    born: Any,
) -> Population:
    """Individuals without parents, whose novelty is not known yet: zeros.

    Args:
        genotype: `(n, p)`.
        evaluation: of these genotypes.
        first: the id of row 0; the others' follow.
        born: the generation of birth.
    """
    n = genotype.shape[0]
    nobody = jnp.full(n, -1, jnp.int32)
    return Population(
        genotype=genotype,
        descriptor=evaluation.descriptor,
        fitness=evaluation.fitness,
        solved=evaluation.solved,
        novelty=jnp.zeros(n, jnp.float32),
        id=(first + jnp.arange(n)).astype(jnp.int32),
        parent=nobody,
        mate=nobody,
        operator=nobody.astype(jnp.int8),
        born=jnp.full(n, born, jnp.int32),
        failed=jnp.asarray(evaluation.failed),
    )


def initial_generation(population: Population) -> Generation:
    """A generation without parents, such as generation 0: its offspring are its survivors."""
    return Generation(take(population, slice(0)), population, population)


@contextlib.contextmanager
def in_float32() -> Generator[None, None, None]:
    """How an estimator's code is compiled: in float32, also with `jax_enable_x64`,
    and its products in full.

    Accelerators' own products are short. A task is compiled as JAX is set.
    """
    with jax.default_matmul_precision("highest"), jax.enable_x64(False):
        yield


def score_novelty(
    estimator: Any, state: PyTree, descriptors: Float[Array, "n d"], population: Population
) -> Float[Array, " n"]:
    r"""$\Omega^g$ of descriptors, in float32.

    Args:
        estimator: whatever has an estimator's `score`.
        state: the estimator's.
        descriptors: `(n, d)` in the units of the behavior space.
        population: who lives now.

    Returns:
        Novelty `(n,)` in the estimator's unit.

    Raises:
        ValueError: where `score` gave another shape.
    """
    with in_float32():
        novelty = estimator.score(state, descriptors, population)
        check_shape("score", estimator, novelty, descriptors.shape[:1])
        return jnp.asarray(novelty, jnp.float32)


def update_estimator(
    estimator: NoveltyEstimator, state: PyTree, generation: Generation, key: Key[Array, ""]
) -> PyTree:
    """`estimator.update` in float32; see `NoveltyEstimator.update`."""
    with in_float32():
        return estimator.update(state, generation, key)


def init_estimator(
    estimator: NoveltyEstimator, space: Box, founders: Population, key: Key[Array, ""]
) -> tuple[Population, PyTree]:
    """The founders' novelty, and the estimator's state, which has not learned them yet.

    Args:
        estimator: whose state it is.
        space: the behavior space.
        founders: evaluated, not scored.
        key: for what is random.

    Returns:
        The founders with their novelty, and the state.
    """
    with in_float32():
        state = estimator.init(space, key)
    return founders._replace(
        novelty=score_novelty(estimator, state, founders.descriptor, founders)
    ), state


@eqx.filter_jit
def score_novelty_jit(
    estimator: Any, state: PyTree, descriptors: Float[Array, "n d"], population: Population
) -> Float[Array, " n"]:
    """`score_novelty`, compiled, with the same arguments: measures and pictures ask again and
    again.
    """
    # A record's arrays are NumPy's, also where `jax.disable_jit` leaves them so.
    state, descriptors, population = jax.tree.map(jnp.asarray, (state, descriptors, population))
    return score_novelty(estimator, state, descriptors, population)
