"""Novelty search: Algorithm 1 of the paper, whatever the task and the novelty.

`init` is its first loop, `step` the body of its second: `ask` is `generate_new_agents`, `evaluate`
the task's own, and `tell` all that follows: novelty, `select_most_novel`, `train`. What is compiled
stands below the class, in that order.
"""

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge
from jaxtyping import Array, ArrayLike, Float, Int, Key, PyTree, UInt32
from pydantic import PositiveInt

from brns.checks.estimators import check_learns_in_state_alone
from brns.checks.generations import (
    NOBODY,
    check_descriptors_in_numeric_range,
    check_genotypes_in_box,
    check_ids_and_lineage,
    check_integers,
    check_not_all_failed_and_finite,
    check_search_state_shapes,
    check_structure,
    check_survivors_distinct,
    explain_task_errors,
)
from brns.checks.parts import (
    check_draws_by_key_alone,
    check_part,
    check_setting_types,
    check_spaces,
    explain_compile_errors,
    read_prng_settings,
)
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
    failures,
)
from brns.core.evaluation import as_evaluation, check_shape
from brns.core.forks import check_not_forked
from brns.core.novelty import init_and_score_founders, init_state, score_novelty, update_estimator
from brns.core.population import (
    concatenate_populations,
    copy_to_host,
    make_individuals,
    make_initial_generation,
    take_rows,
)
from brns.estimators.counts import VisitCounts
from brns.jit import deterministic_jit, is_traced
from brns.operators.founders import UniformFounders
from brns.operators.mutation import MixedMutation
from brns.operators.selection import Elitist
from brns.settings.differences import short_repr


class SearchState(NamedTuple):
    """The state of a search. It has no random key: generation g uses `fold_in(key, g)`."""

    generation: Int[Array, ""]
    """its number; 0 for the founders"""
    population: Population
    """the survivors of `generation`, the parents of the next"""
    estimator: PyTree
    """the estimator's state after `generation`"""
    credit: Float[Array, " k"]
    """of each operator of a `MixedMutation`, by which the next offspring's are drawn"""

    def __repr__(self) -> str:
        summary = f"generation={self.generation}, population={self.population}"
        return f"SearchState({summary}, estimator={type(self.estimator).__name__})"


class Offspring(NamedTuple):
    """What `ask` returns: genotypes to evaluate, with their parents and operators."""

    genotype: Float[Array, "n p"]
    parent: Int[Array, " n"]
    """the id of the parent"""
    mate: Int[Array, " n"]
    """the id of the second parent; -1 where there is none"""
    operator: Int[Array, " n"]
    """which operator of a `MixedMutation` made it"""
    checksum: UInt32[Array, " n"]
    """of the state that they are of, plus the number of the row"""


class NoveltySearch(eqx.Module):
    r"""A novelty search: a task, a novelty estimator, variation and selection.

    Source: Salehi, Coninx & Doncieux, GECCO 2021, Algorithm 1. As printed it scores only the
    offspring, and parents keep an old novelty; like the published code we score both, and
    `rescore_parents=False` gives the printed reading.

    With a traceable task `step` is one compiled function, and `jax.vmap(search.step)` runs many
    seeds at once. A seed in a batch equals the seed alone up to rounding; the same batch gives the
    same bits.
    """

    task: Task
    """what evaluates genotypes"""
    estimator: NoveltyEstimator = VisitCounts()
    """the novelty estimator; by default visit counts, which the suite supports"""
    population_size: Annotated[int, Ge(2)] = 100
    """mu, the survivors of a generation; by default 100, as in the paper's section 5.1"""
    offspring_size: PositiveInt = 100
    """lambda, the offspring of a generation; by default 100, as in section 5.1"""
    mutate: Mutation = MixedMutation()
    """the variation operator; the paper's is `PolynomialMutation`"""
    select: Selection = Elitist()
    """survivor selection; elitist on novelty in section 5.1, NSGA-II in 5.2"""
    rescore_parents: bool = True
    """score parents again each generation; False is Algorithm 1 as printed"""
    founders: Founders = UniformFounders()
    """how generation 0 is drawn; the paper is silent, and its code begins with `LayerFounders`"""
    tournament: PositiveInt = 1
    """tournament size: each parent is the most novel of so many; 1, as in the paper, draws
    parents uniformly"""
    _modes: tuple[str, ...] = eqx.field(init=False, static=True, default_factory=read_prng_settings)

    def __repr__(self) -> str:
        return short_repr(self)

    def __check_init__(self):
        check_part("task", self.task, Task)
        check_spaces(self.task)
        check_part("estimator", self.estimator, NoveltyEstimator)
        check_part("mutate", self.mutate, Mutation)
        check_part("select", self.select, Selection)
        check_part("founders", self.founders, Founders, compiled=self.task.traceable)
        check_setting_types(self)

    def init(self, key: Key[Array, ""]) -> SearchState:
        """Generation 0: founders drawn, evaluated and scored, not yet learned.

        Args:
            key: the run's key.

        Returns:
            The state from which `step` goes on.

        Raises:
            ValueError: where founders, task or estimator break their contract.
        """
        return self.init_with_failures(key)[0]

    def init_with_failures(self, key: Key[Array, ""]) -> tuple[SearchState, Float[Array, "f p"]]:
        """Generation 0, and the genotypes of founders that failed: mutants of the others stand in
        their places; where `init` is part of a program of JAX, the others once more.

        Args:
            key: the run's key.

        Returns:
            The state from which `step` goes on, and the genotypes `(f, p)` of those that failed.

        Raises:
            ValueError: where no founder lives, or as many failed as there shall be.
        """
        _check_modes_key_and_states(self, key)
        draw, evaluate, estimate = derive_keys(key, 0)
        n, space = self.population_size, self.task.genotype_space
        try:
            genotype = self.founders(draw, n, space)
        except TypeError as error:
            raise ValueError(f"founders, called with (key, n, box), raised {error!r}") from error
        check_shape("founders", self.founders, genotype, (n, space.dimension))
        genotype = jnp.asarray(genotype, jnp.float32)
        check_genotypes_in_box("founders", self.founders, genotype, space)
        if not (is_traced(genotype) or self._parts_checked):
            self._check_parts_draw_by_key_alone()
            self._parts_checked.append(True)
        genotype, evaluation, lost = self._evaluate_founders(genotype, evaluate, draw)
        founders = make_individuals(genotype, evaluation, first=0, born=0)
        with explain_compile_errors("estimator", self.estimator):
            population, state = _init_estimator(
                self.estimator, self.task.behavior_space, founders, estimate
            )
        if not is_traced(population):
            on_host = copy_to_host(population)
            check_descriptors_in_numeric_range(0, on_host, self.task.behavior_space)
            check_not_all_failed_and_finite(0, make_initial_generation(on_host))
        credit = self.mutate_as_mixture.initial_credit()
        return SearchState(jnp.int32(0), population, state, credit), lost

    def step(self, state: SearchState, key: Key[Array, ""]) -> tuple[SearchState, Generation]:
        """One generation.

        Args:
            state: of the generation before.
            key: the run's own key, the same in every generation.

        Returns:
            The state after the generation, and who was born and who survived.
        """
        _check_modes_key_and_states(self, key, state)
        if not self.task.traceable:
            return _ask_evaluate_and_tell(self, state, key)
        # What only lowering finds:
        with explain_compile_errors("task, estimator and select", self):
            return _step_jit(self, state, key)

    def ask(self, state: SearchState, key: Key[Array, ""]) -> Offspring:
        """The next generation's offspring: mutants of parents drawn with replacement.

        Args:
            state: of the generation before.
            key: `derive_keys(run_key, generation)[0]`; another one in every generation.

        Returns:
            Genotypes `(lambda, p)` with their parents and operators.
        """
        _check_modes_key_and_states(self, key, state)
        space = self.task.genotype_space
        with explain_compile_errors("mutate", self.mutate):
            offspring = generate_offspring(
                self.mutate_as_mixture, space, self.offspring_size, self.tournament, state, key
            )
        check_genotypes_in_box("mutate", self.mutate, offspring.genotype, space)
        return offspring

    def tell(
        self, state: SearchState, offspring: Offspring, evaluation: Evaluation, key: Key[Array, ""]
    ) -> tuple[SearchState, Generation]:
        """Score, select, learn.

        Args:
            state: the one that `ask` was given.
            offspring: what `ask` gave, all of it: ids are numbered by `offspring_size`.
            evaluation: what the task says of them.
            key: for what the estimator draws.

        Returns:
            The state after the generation, and the generation.

        Raises:
            ValueError: where there are more or fewer offspring than were asked for, or those of
                another state; where the evaluation is not one of them, or is not finite.
        """
        _check_modes_key_and_states(self, key, state)
        offspring = _check_offspring_of_state(self, state, offspring)
        with explain_task_errors(self.task):
            evaluation = as_evaluation(evaluation, self.offspring_size, self.task)
        settings = self.estimator, self.mutate_as_mixture, self.select, self.rescore_parents
        with explain_compile_errors("estimator and select", self):
            after, generation = _tell(*settings, state, offspring, evaluation, key)
        if not is_traced((after, generation)):
            check_generation(self, int(after.generation), copy_to_host(generation))
        return after, generation

    @functools.cached_property
    def _parts_checked(self) -> list[bool]:
        """Not empty once the parts were checked, which takes as long again for every seed."""
        return []

    def _check_parts_draw_by_key_alone(self) -> None:
        key, space, n = jax.random.key(0), self.task.genotype_space, self.population_size

        def add_last(part: Any, argument: Any) -> Callable[..., Any]:
            return lambda *arrays: part(*arrays, argument)

        def draw_founders(key: Key[Array, ""]) -> Any:
            return self.founders(key, n, space)

        check_draws_by_key_alone("founders", self.founders, draw_founders, key)
        genotypes = jax.ShapeDtypeStruct((self.offspring_size, space.dimension), jnp.float32)
        for mutate in self.mutate_as_mixture.operators:
            check_draws_by_key_alone("mutate", mutate, add_last(mutate, space), key, genotypes)
        d = self.task.behavior_space.dimension
        points = jax.ShapeDtypeStruct((n + self.offspring_size, d), jnp.float32)
        union = jax.eval_shape(Population.from_descriptors, points)
        check_draws_by_key_alone("select", self.select, add_last(self.select, n), union)
        check_learns_in_state_alone(self.estimator, self.state_shapes.estimator, union, n)

    def _evaluate_founders(
        self, genotype: Float[Array, "n p"], key: Key[Array, ""], vary: Key[Array, ""]
    ) -> tuple[Float[Array, "n p"], Evaluation, Float[Array, "f p"]]:
        """Founders that live, their evaluation, and the genotypes of those that failed."""
        n, space = self.population_size, self.task.genotype_space
        with explain_task_errors(self.task):
            evaluation = as_evaluation(_evaluate_copy(self.task, genotype, key), n, self.task)
        if is_traced(evaluation.failed):  # how many mutants they need is not known
            living = jnp.argsort(evaluation.failed)[jnp.arange(n) % jnp.sum(~evaluation.failed)]
            rows = jnp.where(evaluation.failed, living, jnp.arange(n))
            return genotype[rows], take_rows(evaluation, rows), genotype[:0]
        lost = [genotype[:0]]
        while np.asarray(evaluation.failed).any():
            rows = jnp.flatnonzero(evaluation.failed)
            lost.append(genotype[rows])
            living = genotype[~evaluation.failed]
            if not len(living) or sum(map(len, lost)) >= n:
                raise ValueError(
                    f"{sum(map(len, lost))} founders failed, of a population of {n}: mend the "
                    "task, or begin with founders that it can evaluate"
                )
            parents = living[jnp.arange(n) % len(living)]
            again = jax.random.fold_in(vary, len(lost))
            mutate = self.mutate_as_mixture
            mutants, *_ = mutate.vary(again, mutate.initial_credit(), parents, space)
            mutants = jnp.asarray(mutants, jnp.float32)[rows]
            with explain_task_errors(self.task):
                after = _evaluate_copy(self.task, mutants, key)
                after = as_evaluation(after, len(rows), self.task)
            genotype = genotype.at[rows].set(mutants)
            columns = zip(evaluation, after, strict=True)
            evaluation = Evaluation(
                *(jnp.asarray(column).at[rows].set(other) for column, other in columns)
            )
        return genotype, evaluation, jnp.concatenate(lost)

    @property
    def mutate_as_mixture(self) -> MixedMutation:
        """The variation operator; one that is no mixture as a mixture of one."""
        if isinstance(self.mutate, MixedMutation):
            return self.mutate
        return MixedMutation((self.mutate,))

    @functools.cached_property
    def state_shapes(self) -> SearchState:
        """A state of this search, of which the arrays are shapes alone."""

        def make(key: Key[Array, ""]) -> SearchState:
            n, space = self.population_size, self.task.behavior_space
            population = Population.from_descriptors(jnp.zeros((n, space.dimension)))
            genotype = jnp.zeros((n, self.task.genotype_space.dimension))
            population = population._replace(genotype=genotype)
            estimator = init_state(self.estimator, space, key)
            credit = self.mutate_as_mixture.initial_credit()
            return SearchState(jnp.int32(0), population, estimator, credit)

        with explain_compile_errors("estimator", self.estimator):
            return eqx.filter_eval_shape(make, jax.random.key(0))


def _check_modes_key_and_states(search: NoveltySearch, key: Any, *states: Any) -> None:
    """Refuse a key or states that are none of this search's, changed modes of JAX, and forks."""
    check_not_forked("a search")
    if changed := sorted({*search._modes} - {*read_prng_settings()}):
        raise ValueError(
            f"JAX had {' and '.join(changed)} when the search was made, and has not now: other "
            "random numbers would be drawn. Set it by jax.config.update, not by with, before the "
            "search is made, and leave it"
        )
    typed = jnp.issubdtype(getattr(key, "dtype", bool), jax.dtypes.prng_key)
    if not (typed or getattr(key, "ndim", 0)):  # raw ones are arrays of numbers
        raise ValueError(f"key must be a random key, as in jax.random.key(0); got {key!r:.80}")
    for state in states:
        if not isinstance(state, SearchState):
            raise ValueError(f"state must be what init, step or tell gave; got {state!r:.80}")
        check_search_state_shapes(search.state_shapes, state)


def _check_offspring_of_state(
    search: NoveltySearch, state: SearchState, offspring: Any
) -> Offspring:
    """The offspring as arrays, where they are all that `ask` gave of this state, in their order."""
    if not isinstance(offspring, Offspring):
        raise ValueError(f"tell needs the offspring that ask gave; got {offspring!r:.80}")
    n, genes = search.offspring_size, search.task.genotype_space.dimension
    offspring = Offspring(*map(jnp.asarray, offspring))
    for name, column in offspring._asdict().items():
        if name != "genotype" and not jnp.issubdtype(column.dtype, jnp.integer):
            raise ValueError(
                f"tell needs offspring as ask gave them, whose {name} is of integers; got "
                f"{column.dtype}"
            )
        if np.shape(column) != ((n, genes) if name == "genotype" else (n,)):
            raise ValueError(
                f"tell needs all {n} offspring that ask gave, in their order; got "
                f"{np.shape(column)} ({name}). Name those that could not be evaluated in "
                "Evaluation.failed"
            )
    if not is_traced((state, offspring)):
        numbers = np.asarray(offspring.checksum - _compute_population_checksum(state))
        if (numbers != np.arange(n)).any():
            raise ValueError(
                f"tell needs the offspring that ask gave of this very state, of generation "
                f"{state.generation}, each once and in the order in which ask gave them; got "
                "others, or one twice"
            )
    return offspring


def check_generation(search: NoveltySearch, number: int, generation: Generation) -> None:
    """Refuse a generation that is not what the contracts of mutation, task, estimator and selection
    say: genotypes outside the box, what is not finite, parents who are not of the state, and
    survivors of whom one lives on twice.

    `tell` does so too; one that is compiled with a task cannot. The generation is on the host.
    """
    space = search.task.genotype_space
    check_genotypes_in_box("mutate", search.mutate, generation.offspring.genotype, space)
    check_descriptors_in_numeric_range(number, generation.offspring, search.task.behavior_space)
    check_not_all_failed_and_finite(number, generation)
    check_ids_and_lineage(generation)
    check_survivors_distinct(search.select, generation.survivors)


def derive_keys(key: Key[Array, ""], generation: Int[ArrayLike, ""]) -> Key[Array, "3"]:
    """A generation's keys.

    Args:
        key: the run's.
        generation: its number; 0 for the founders.

    Returns:
        Three, for `ask`, `evaluate` and `tell`.
    """
    return jax.random.split(jax.random.fold_in(key, generation), 3)


def _evaluate_copy(task: Task, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Any:
    """What a task gives; one on the host has a copy, since PyTorch writes into what it is given."""
    return task.evaluate(genotypes if task.traceable else jnp.array(genotypes), key)


_init_estimator = deterministic_jit(init_and_score_founders)


def _ask_evaluate_and_tell(
    search: NoveltySearch, state: SearchState, key: Key[Array, ""]
) -> tuple[SearchState, Generation]:
    ask, evaluate, tell = derive_keys(key, state.generation + 1)
    offspring = search.ask(state, ask)
    with explain_task_errors(search.task):
        evaluation = _evaluate_copy(search.task, offspring.genotype, evaluate)
    return search.tell(state, offspring, evaluation, tell)


_step_jit = deterministic_jit(_ask_evaluate_and_tell)
"""for a task that is JAX code too"""


@deterministic_jit
def generate_offspring(
    mixture: MixedMutation,
    space: Box,
    size: int,
    tournament: int,
    state: SearchState,
    key: Key[Array, ""],
) -> Offspring:
    draw, vary = jax.random.split(key)
    drawn = jax.random.randint(draw, (tournament, size), 0, state.population.id.shape[0])
    best = jnp.argmax(state.population.novelty[drawn], axis=0)
    parents = take_rows(state.population, drawn[best, jnp.arange(size)])
    genotype, operator, row = mixture.vary(vary, state.credit, parents.genotype, space)
    mate = jnp.where(row >= 0, parents.id.at[row].get(mode="fill", fill_value=NOBODY), -1)
    checksum = _compute_population_checksum(state) + jnp.arange(size, dtype=jnp.uint32)
    return Offspring(jnp.asarray(genotype, jnp.float32), parents.id, mate, operator, checksum)


@deterministic_jit
def _compute_population_checksum(state: SearchState) -> UInt32[Array, ""]:
    """A number that two states of a run, or of two seeds, do not share."""
    bits = jax.lax.bitcast_convert_type(state.population.genotype, jnp.uint32)
    return bits.sum(dtype=jnp.uint32) + jnp.asarray(state.generation).astype(jnp.uint32)


@deterministic_jit
def _tell(
    estimator: NoveltyEstimator,
    mixture: MixedMutation,
    select: Selection,
    rescore_parents: bool,
    state: SearchState,
    offspring: Offspring,
    evaluation: Evaluation,
    key: Key[Array, ""],
) -> tuple[SearchState, Generation]:
    parents, g = state.population, state.generation + 1
    mu, n = parents.id.shape[0], offspring.parent.shape[0]
    children = make_individuals(offspring.genotype, evaluation, first=mu + (g - 1) * n, born=g)
    children = children._replace(
        parent=offspring.parent, mate=offspring.mate, operator=offspring.operator.astype(jnp.int8)
    )
    children = failures.copy_parents_where_failed(children, parents)
    union = concatenate_populations(parents, children)
    with explain_compile_errors("estimator", estimator):
        novelty = score_novelty(estimator, state.estimator, union.descriptor, union)
    if not rescore_parents:
        novelty = jnp.concatenate([parents.novelty, novelty[mu:]])
    union = union._replace(novelty=novelty)
    with explain_compile_errors("select", select):
        rows = select(failures.lower_failed_scores_to_least(union), mu)
    check_integers("select", select, rows, mu)
    rows = failures.replace_failed_survivors(union, _replace_rows_out_of_range(rows, mu + n))
    generation = Generation(
        take_rows(union, slice(mu)), take_rows(union, slice(mu, None)), take_rows(union, rows)
    )
    with explain_compile_errors("estimator", estimator):
        after = update_estimator(estimator, state.estimator, generation, key)
    check_structure(estimator, state.estimator, after)
    novelty_or_failed = jnp.where(children.failed, -jnp.inf, union.novelty[mu:])
    credit = mixture.update_credit(state.credit, offspring.operator, novelty_or_failed)
    generation = generation._replace(offspring=failures.set_failed_to_nan(generation.offspring))
    return SearchState(jnp.asarray(g, jnp.int32), generation.survivors, after, credit), generation


def _replace_rows_out_of_range(rows: Int[Array, " mu"], number: int) -> Int[Array, " mu"]:
    """The selected rows, those that there are not replaced by others, which is refused later."""
    rows = jnp.asarray(rows)
    present = (rows >= 0) & (rows < number)
    return jnp.where(present, rows, jnp.clip(rows[jnp.argmax(present)], 0, number - 1))
