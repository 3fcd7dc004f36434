"""Individuals as columns: what a task says of them, who lives, and a generation."""

from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from brns.core.box import as_array_and_check_real

T = TypeVar("T")


def format_types_and_shapes(rows: Any) -> str:
    """Columns with types and shapes in place of numbers: `descriptor=f32[100,2]`."""
    return eqx.tree_pformat(rows, width=10_000)


class Evaluation(NamedTuple):
    """The results of n evaluations: descriptors (measures), fitness and more, a row each."""

    descriptor: Float[Array | np.ndarray, "n d"]
    """behavior, in the units of `task.behavior_space`"""
    fitness: Float[Array | np.ndarray, " n"] = 0.0  # ty: ignore[invalid-assignment]
    """the task's own reward; by default zeros"""
    solved: Bool[Array | np.ndarray, " n"] = False  # ty: ignore[invalid-assignment]
    """whether each solved the task, $T_s$ of Algorithm 1; by default none did"""
    failed: Bool[Array | np.ndarray, " n"] = False  # ty: ignore[invalid-assignment]
    """which could not be evaluated: never learned or selected; other columns may have anything"""

    def __repr__(self) -> str:
        return format_types_and_shapes(self)


class Population(NamedTuple):
    """A table of individuals: row i of every column is individual i. Read back from a record,
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

    def __repr__(self) -> str:
        return format_types_and_shapes(self)

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
        numbers = as_array_and_check_real("descriptors", descriptors, "a population needs")
        descriptor = jnp.asarray(numbers, jnp.float32)
        if descriptor.ndim != 2:
            raise ValueError(
                f"a population needs descriptors of shape (n, d); got {descriptor.shape}"
            )
        n, nobody = len(descriptor), jnp.zeros(len(descriptor), bool)
        evaluation = Evaluation(descriptor, jnp.zeros(n, jnp.float32), nobody, nobody)
        return make_individuals(jnp.zeros((n, 1), jnp.float32), evaluation, first, born)


class Generation(NamedTuple):
    """Parents, offspring and survivors of one generation.

    `parents` and `offspring` carry the novelty by which they were selected; `survivors` are the
    rows selected from their union. Generation 0 has no parents: there the founders are the
    offspring and the survivors.
    """

    parents: Population
    offspring: Population
    survivors: Population

    def __repr__(self) -> str:
        return format_types_and_shapes(self)

    @classmethod
    def from_descriptors(cls, descriptors: Any, number: Any) -> "Generation":
        """A generation of behaviors alone, for an estimator's `update` in your own loop.

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
        if not isinstance(number, Tracer) and number < 1:
            raise ValueError(
                f"a generation from descriptors needs a batch's number from 1 on; got {number}"
            )
        first = (number - 1) * len(descriptors)
        return make_initial_generation(Population.from_descriptors(descriptors, number, first))


def flatten_by_name(tree: Any) -> dict[str, Any]:
    """Every leaf of a tree by its path, such as `estimator.predictor.layers[0].weight`."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def copy_to_host(tree: Any) -> Any:
    """The tree with NumPy's arrays."""
    return jax.tree.map(np.asarray, tree)


def take_rows(columns: T, rows: Int[Array | np.ndarray, "..."] | slice | int) -> T:
    """The given rows of every column of a NamedTuple of arrays, such as a population."""
    return jax.tree.map(lambda column: column[rows], columns)


def concatenate_populations(parents: Population, offspring: Population) -> Population:
    """Parents and offspring as one population, the parents' rows first."""
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), parents, offspring)


@jax.jit
def make_individuals(
    genotype: Float[Array, "n p"], evaluation: Evaluation, first: Any, born: Any
) -> Population:
    """Individuals without parents and with a novelty of zeros, whose ids begin with `first`."""
    n = genotype.shape[0]
    nobody = jnp.full(n, -1, jnp.int32)
    return Population(
        genotype=genotype,
        descriptor=jnp.asarray(evaluation.descriptor),
        fitness=jnp.asarray(evaluation.fitness),
        solved=jnp.asarray(evaluation.solved),
        novelty=jnp.zeros(n, jnp.float32),
        id=(first + jnp.arange(n)).astype(jnp.int32),
        parent=nobody,
        mate=nobody,
        operator=nobody.astype(jnp.int8),
        born=jnp.full(n, born, jnp.int32),
        failed=jnp.asarray(evaluation.failed),
    )


def make_initial_generation(population: Population) -> Generation:
    """A generation without parents, such as generation 0: its offspring are its survivors."""
    return Generation(take_rows(population, slice(0)), population, population)
