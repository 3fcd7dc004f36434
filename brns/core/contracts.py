"""The contracts between the parts of a search."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from brns.core.box import Box
from brns.core.population import Evaluation, Generation, Population


@runtime_checkable
class Task(Protocol):
    """The interface of a task: what evaluates genotypes, such as a simulation.

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


@runtime_checkable
class NoveltyEstimator(Protocol):
    r"""The interface of a novelty estimator: scores behaviors and learns from each generation;
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
            Novelty `(n,)`, finite. Below 0, as of a logarithm, it has no eta, which is a ratio.
        """

    def update(self, state: PyTree, generation: Generation, key: Key[Array, ""]) -> PyTree:
        """The state after one more generation was seen. Called once a generation, after selection.

        Args:
            state: of the generation before.
            generation: who was born and who survived. Rows of `offspring.failed` are not learned.
            key: another one in each generation.

        Returns:
            A state with the structure, shapes and types of the one before.
        """


@runtime_checkable
class Compactable(Protocol):
    """An estimator of whose state a run keeps what does not follow from learned descriptors."""

    def compact(self, state: PyTree) -> PyTree:
        """The state without what follows from the descriptors.

        Args:
            state: the whole state.

        Returns:
            What a run saves.
        """

    def restore(
        self, state: PyTree, descriptors: Iterable[np.ndarray], earlier: PyTree | None = None
    ) -> PyTree:
        """The whole state again, to the same bits.

        Args:
            state: as `compact` gave it.
            descriptors: of those born in each generation, `(n, d)`, from generation 0 on or from
                the one after `earlier`, without those who failed.
            earlier: the whole state after an earlier generation of the run, from 1 on.
        """


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
    """A `Mutation` with a second parent, whose rows it returns for the record."""

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


@runtime_checkable
class Selection(Protocol):
    """Survivor selection: the rows of the `size` individuals of `population` that survive."""

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        """Select survivors.

        Args:
            population: parents and offspring with their novelty.
            size: how many live on.

        Returns:
            Their rows, each at most once.
        """
