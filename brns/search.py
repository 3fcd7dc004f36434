"""Novelty search: Algorithm 1 of the paper, whatever the task and the novelty."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from brns.core import (
    Evaluation,
    Founders,
    Generation,
    Mutation,
    NoveltyEstimator,
    Population,
    Selection,
    Task,
    columns,
    conform,
    refuse_outside,
    refuse_shape,
    refuse_wrong,
    same_structure,
    scored,
    take,
    unite,
)
from brns.estimators.exact import ExactRecognition
from brns.founders import UniformFounders
from brns.mutation import PolynomialMutation
from brns.selection import Elitist
from brns.settings import Kind, shown


class SearchState(NamedTuple):
    """All that a search carries from one generation to the next. No random key: generation g uses `fold_in(key, g)`."""

    generation: Int[Array, ""]
    population: Population
    """the survivors of `generation`, the parents of the next"""
    estimator: PyTree
    """the estimator's state after `generation`"""

    def __repr__(self) -> str:
        known = f"generation={self.generation}, population={columns(self.population)}"
        return f"SearchState({known}, estimator={type(self.estimator).__name__})"


class Offspring(NamedTuple):
    """What a task is asked to evaluate."""

    genotype: Float[Array, "n p"]
    parent: Int[Array, " n"]
    """the id of the parent"""


class NoveltySearch(eqx.Module):
    r"""An experiment: a task, a novelty, and how the population turns over.

    A generation draws parents uniformly with replacement, mutates them (no crossover), evaluates the offspring, scores
    parents and offspring by the estimator, selects the survivors from both and lets the estimator learn.

    Source: Salehi, Coninx & Doncieux, GECCO 2021, Algorithm 1. Algorithm 1 as printed scores only the offspring, so
    that parents keep an old novelty; like the published code we score both again, and `fresh_parents=False` gives the
    printed reading.

    `step` is `ask`, the task and `tell` in one. With a traceable task it is one compiled function and
    `jax.vmap(search.step)` runs many seeds at once; a batched matrix product may then round otherwise than a single
    one, so a seed in a batch equals the seed alone up to rounding, and the same batch gives the same bits.
    """

    task: Task
    estimator: NoveltyEstimator = ExactRecognition()
    """the novelty; by default the one that the suite of worlds recommends"""
    population_size: int = 100
    """mu; paper, section 5.1"""
    offspring_size: int = 100
    """lambda; paper, section 5.1"""
    mutate: Mutation = PolynomialMutation()
    """variation operator; paper, section 5"""
    select: Selection = Elitist()
    """survivor selection; elitist on novelty in section 5.1, NSGA-II in 5.2"""
    fresh_parents: bool = True
    """score parents again each generation; False is Algorithm 1 as printed"""
    founders: Founders = UniformFounders()
    """how generation 0 is drawn; the paper is silent, and its code begins with `LayerFounders`"""

    def __check_init__(self):
        for name, (kind, contract) in CONTRACTS.items():
            refuse_wrong(name, getattr(self, name), kind, contract)
        if self.population_size < 2 or self.offspring_size < 1:
            raise ValueError(
                "novelty search needs a population of at least 2 and at least 1 offspring; got "
                f"population_size={self.population_size}, offspring_size={self.offspring_size}"
            )

    def __repr__(self) -> str:
        return shown(self)

    def init(self, key: Key[Array, ""]) -> SearchState:
        """Generation 0: founders drawn, evaluated and scored, not yet learned."""
        draw, evaluate, estimate = jax.random.split(jax.random.fold_in(key, 0), 3)
        space = self.task.genotype_space
        genotype = self.founders(draw, self.population_size, space)
        refuse_shape("founders", self.founders, genotype, (self.population_size, space.dimension))
        genotype = jnp.asarray(genotype, jnp.float32)
        refuse_outside(genotype, space)
        evaluation = conform(self.task.evaluate(genotype, evaluate), genotype.shape[0], self.task)
        return _found(self.estimator, self.task.behavior_space, genotype, evaluation, estimate)

    def state_shape(self) -> SearchState:
        """The state's tree with shapes and types in place of arrays, without evaluating anything."""

        def column(*shape: int, dtype=jnp.float32):
            return jax.ShapeDtypeStruct(shape, dtype)

        n, space = self.population_size, self.task.behavior_space
        evaluation = Evaluation(column(n, space.dimension), column(n), column(n, dtype=bool))
        genotype = column(n, self.task.genotype_space.dimension)
        return eqx.filter_eval_shape(_found, self.estimator, space, genotype, evaluation, jax.random.key(0))

    def ask(self, state: SearchState, key: Key[Array, ""]) -> Offspring:
        """The next generation's offspring: mutants of parents drawn uniformly with replacement."""
        return _ask(self.mutate, self.task.genotype_space, self.offspring_size, state, key)

    def tell(
        self, state: SearchState, offspring: Offspring, evaluation: Evaluation, key: Key[Array, ""]
    ) -> tuple[SearchState, Generation]:
        """Score, select, learn. `offspring` comes from `ask(state, ...)`, `evaluation` from the task."""
        evaluation = conform(evaluation, offspring.genotype.shape[0], self.task)
        return _tell(self.estimator, self.select, self.fresh_parents, state, offspring, evaluation, key)

    def step(self, state: SearchState, key: Key[Array, ""]) -> tuple[SearchState, Generation]:
        """One generation. `key` is the run's own key, the same in every generation."""
        return _step(self, state, key) if self.task.traceable else self._step(state, key)

    def _step(self, state: SearchState, key: Key[Array, ""]) -> tuple[SearchState, Generation]:
        ask, evaluate, tell = jax.random.split(jax.random.fold_in(key, state.generation + 1), 3)
        offspring = self.ask(state, ask)
        return self.tell(state, offspring, self.task.evaluate(offspring.genotype, evaluate), tell)


CONTRACTS: dict[str, tuple[Kind, type]] = {
    "task": ("world", Task),
    "estimator": ("estimator", NoveltyEstimator),
    "mutate": ("mutation", Mutation),
    "select": ("selection", Selection),
    "founders": ("founders", Founders),
}
"""what each part of a search is called in the table of parts, and what it must be"""


@eqx.filter_jit
def _step(search: NoveltySearch, state: SearchState, key: Key[Array, ""]) -> tuple[SearchState, Generation]:
    return search._step(state, key)


@eqx.filter_jit
def _found(estimator, space, genotype, evaluation, key) -> SearchState:
    n = genotype.shape[0]
    founders = Population(
        genotype=genotype,
        descriptor=evaluation.descriptor,
        fitness=evaluation.fitness,
        solved=evaluation.solved,
        novelty=jnp.zeros(n, jnp.float32),
        id=jnp.arange(n, dtype=jnp.int32),
        parent=jnp.full(n, -1, jnp.int32),
        born=jnp.zeros(n, jnp.int32),
    )
    state = estimator.init(space, key)
    novelty = scored(estimator, state, founders.descriptor, founders)
    return SearchState(jnp.int32(0), founders._replace(novelty=novelty), state)


@eqx.filter_jit
def _ask(mutate, space, size, state, key) -> Offspring:
    draw, vary = jax.random.split(key)
    rows = jax.random.randint(draw, (size,), 0, state.population.id.shape[0])
    parents = take(state.population, rows)
    genotype = mutate(vary, parents.genotype, space)
    refuse_shape("mutate", mutate, genotype, (size, space.dimension))
    return Offspring(jnp.asarray(genotype, jnp.float32), parents.id)


@eqx.filter_jit
def _tell(estimator, select, fresh_parents, state, offspring, evaluation, key) -> tuple[SearchState, Generation]:
    parents, g = state.population, state.generation + 1
    mu, n = parents.id.shape[0], offspring.parent.shape[0]
    children = Population(
        genotype=offspring.genotype,
        descriptor=evaluation.descriptor,
        fitness=evaluation.fitness,
        solved=evaluation.solved,
        novelty=jnp.zeros(n, jnp.float32),
        id=(mu + (g - 1) * n + jnp.arange(n)).astype(jnp.int32),
        parent=offspring.parent,
        born=jnp.broadcast_to(g, (n,)).astype(jnp.int32),
    )
    union = unite(parents, children)
    novelty = scored(estimator, state.estimator, union.descriptor, union)
    if not fresh_parents:
        novelty = jnp.concatenate([parents.novelty, novelty[mu:]])
    union = union._replace(novelty=novelty)
    rows = select(union, mu)
    refuse_shape("select", select, rows, (mu,))
    generation = Generation(
        parents=take(union, slice(mu)),
        offspring=take(union, slice(mu, None)),
        survivors=take(union, rows),
    )
    learned = estimator.update(state.estimator, generation, key)
    same_structure(estimator, state.estimator, learned)
    return SearchState(g.astype(jnp.int32), generation.survivors, learned), generation


def founding(state: SearchState) -> Generation:
    """Generation 0 as facts: the founders are its offspring and its survivors, and nobody was before them."""
    return Generation(take(state.population, slice(0)), state.population, state.population)
