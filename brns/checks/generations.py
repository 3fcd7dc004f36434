"""What the parts of a search must give in every generation."""

import contextlib
import itertools
import warnings
from collections.abc import Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float, PyTree

from brns.checks.parts import JAX_ERRORS
from brns.core import Box, Generation, Mutation, NoveltyEstimator, Population, Selection, Task
from brns.core.box import FARTHEST, is_within_numeric_range
from brns.core.evaluation import check_shape, name_function_or_class
from brns.core.population import flatten_by_name
from brns.jit import is_traced

SAFE = "Nothing of this was saved; what was saved before is safe"
SKIP = (
    "To go on without individuals that fail: brns.Chunked(task, chunk=None, failures=0.1), with "
    "workers brns.Processes(task, failures=0.1), in brns run --failures 0.1; or the task "
    "says which failed, in Evaluation.failed"
)
READ_ONLY = (
    "Genotypes are read-only: a task or policy that changes them takes a copy, np.array(genotypes)"
)
DRAWING = "NumPy draws by a key with numpy.random.default_rng(jax.random.key_data(key))"
OUTSIDE = 1.5
"""widths beyond the box, two from its center: about where visit counts tell none from another"""
NOBODY = -2
"""the id of a second parent whose row the population lacks"""


def check_structure(estimator: NoveltyEstimator, before: PyTree, after: PyTree) -> None:
    """Refuse an `update` that changed the structure, shapes or types of the state."""
    was, now = (
        jax.tree.map(lambda leaf: f"{jnp.result_type(leaf)}{jnp.shape(leaf)}", tree)
        for tree in (before, after)
    )
    if was != now:
        raise ValueError(
            f"{type(estimator).__name__}.update must return a state of the same structure, shapes "
            f"and types as init's; got\n{now}\nafter\n{was}"
        )


def check_search_state_shapes(expected: PyTree, state: PyTree) -> None:
    """Refuse a search's state whose arrays are not those, or not of the shapes, that it makes."""
    if [*map(np.shape, jax.tree.leaves(expected))] == [*map(np.shape, jax.tree.leaves(state))]:
        return
    both = flatten_by_name(expected), flatten_by_name(state)
    for name in dict.fromkeys(itertools.chain(*both)):
        was, now = (np.shape(tree[name]) if name in tree else "none" for tree in both)
        if was != now:
            raise ValueError(
                f"state must be one of this search, whose {name} has shape {was}; got {now}, as a "
                "search of other sizes, or with another task, mutation or estimator, makes it"
            )


def check_genotypes_in_box(
    source: str, part: Any, genotypes: Float[ArrayLike, "n p"], space: Box
) -> None:
    """Refuse genotypes outside the genotype space, and what is no number, unless it is traced."""
    if is_traced((genotypes, space)):
        return
    rows = np.asarray(genotypes)
    low, high = np.asarray(space.low), np.asarray(space.high)
    outside = ~((rows >= low) & (rows <= high))
    if outside.any():
        row, gene = np.argwhere(outside)[0].tolist()
        raise ValueError(
            f"{source} must give genotypes inside the genotype space; "
            f"{name_function_or_class(part)} gave {outside.any(axis=1).sum()} of {len(rows)} "
            f"outside it, such as gene {gene} = {rows[row, gene]:.8g} in row {row}, whose bounds "
            f"are {low[gene]:.8g} and {high[gene]:.8g}. "
            "Clip them, as in jnp.clip(genotypes, box.low, box.high)"
        )


def check_and_split_mutants_and_mates(mutate: Mutation, result: Any, n: int) -> tuple[Any, Any]:
    """What `recombine` gave, if it is mutants and `n` row numbers of second parents."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise ValueError(
            "recombine must give the mutants and the rows of their second parents; "
            f"{name_function_or_class(mutate)} gave {type(result).__name__}"
        )
    check_integers("recombine", mutate, result[1], n)
    return result


def check_integers(name: str, part: Any, rows: Any, size: int) -> None:
    """Refuse what is not `size` row numbers; their values are not looked at."""
    dtype = getattr(rows, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.integer):
        raise ValueError(
            f"{name} must give rows as an array of integers; "
            f"{name_function_or_class(part)} gave {dtype or type(rows).__name__}"
        )
    check_shape(name, part, rows, (size,))


def check_survivors_distinct(select: Selection, survivors: Population) -> None:
    """Refuse survivors of whom one lives on twice; traced ones are not looked at."""
    if is_traced(survivors.id):
        return
    ids, times = np.unique(np.asarray(survivors.id), return_counts=True)
    if (times > 1).any():
        raise ValueError(
            "select must give distinct rows, from 0 to below the population's number; "
            f"{name_function_or_class(select)} let {(times > 1).sum()} individuals live on twice "
            f"(ids {_format_first_ids(ids[times > 1])})"
        )


def check_ids_and_lineage(generation: Generation) -> None:
    """Refuse offspring with an id of a parent, or of a parent who does not live."""
    born, ids = generation.offspring, generation.parents.id
    first, newest = born.id.min(), ids.max()
    if newest >= first:
        raise ValueError(
            f"offspring must have new ids, from {newest + 1} on; got {first}: the state is of a "
            "search with another offspring_size, or its individuals are of a later generation than "
            "its number says, as where states of different generations were put together"
        )
    if not np.isin(born.parent, ids).all():
        raise ValueError(
            "tell needs the offspring that ask gave of this very state; a parent of theirs does "
            "not live in it"
        )
    if not np.isin(born.mate, [-1, *ids]).all():
        raise ValueError(
            "a second parent of the offspring does not live in the state: recombine must give its "
            "row in the genotypes, or -1, and tell the offspring of this very state"
        )


def check_not_all_failed_and_finite(number: int, generation: Generation) -> None:
    """Refuse a generation all of which failed, or of whose others a number is not finite."""
    if generation.offspring.failed.all():
        everybody = len(generation.offspring.id)
        raise ValueError(f"all {everybody} of generation {number} failed. {SAFE}")
    sources = {
        "genotype": "mutation" if number else "founders",
        "descriptor": "task",
        "fitness": "task",
        "novelty": "estimator",
    }
    everybody = (generation.offspring, generation.parents)
    for rows, (column, source) in itertools.product(everybody, sources.items()):
        finite = np.isfinite(getattr(rows, column))
        bad = ~finite.all(axis=tuple(range(1, finite.ndim)))
        if column != "genotype":
            bad &= ~rows.failed
        if bad.any():
            hint = f" {SKIP}" if source == "task" else ""
            far = " in float32, which ends at 3.4e38" if source == "task" else ""
            raise ValueError(
                f"the {source} gave a {column} that is not finite for {bad.sum()} of {bad.size} "
                f"individuals of generation {number} "
                f"(first ids {_format_first_ids(rows.id[bad])}){far}. {SAFE}.{hint}"
            )


def check_descriptors_in_numeric_range(number: int, individuals: Population, space: Box) -> None:
    """Refuse behaviors beside which float32 cannot tell those in the box from each other."""
    descriptors = np.asarray(individuals.descriptor)
    far = np.isfinite(descriptors).all(axis=1) & ~is_within_numeric_range(descriptors, space)
    far &= ~individuals.failed
    if far.any():
        raise ValueError(
            f"the task gave {far.sum()} behaviors of generation {number} farther than "
            f"{FARTHEST:g} widths from behavior_space "
            f"(first ids {_format_first_ids(individuals.id[far])}): "
            f"beside them others look alike. Clip them. {SAFE}. {SKIP}"
        )
    warn_if_many_outside(descriptors[np.isfinite(descriptors).all(axis=1)], space)


def warn_if_many_outside(descriptors: Float[np.ndarray, "n d"], space: Box) -> None:
    """A word, once, where more than a tenth lie so far from the box that it may be a wrong one."""
    outside = ~is_within_numeric_range(descriptors, space, OUTSIDE)
    if 10 * outside.sum() > len(descriptors):
        warnings.warn(
            "more than a tenth of the behaviors lie over two widths of behavior_space from its "
            "center, where visit counts may tell none from another: give a wider one",
            stacklevel=2,
        )


def _format_first_ids(ids: Any) -> str:
    return ", ".join(map(str, ids[:3].tolist()))


def check_state_not_nan(number: int, state: PyTree) -> None:
    """Refuse an estimator's state that holds NaN; infinity may mark what is empty."""
    for name, leaf in flatten_by_name(state).items():
        if wrong := np.isnan(leaf).sum():
            raise ValueError(
                f"the estimator's state has {wrong} NaN after generation {number} (in {name}); a "
                f"smaller learning rate may help. {SAFE}"
            )


@contextlib.contextmanager
def explain_task_errors(task: Task) -> Generator[None, None, None]:
    """Let a task's code promote types and ranks, as where it is compiled, and explain an error of
    JAX in it; another gets a note of how to go on without it.
    """
    try:
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            yield
    except Exception as error:
        if task.traceable and isinstance(error, JAX_ERRORS):
            cause = str(error).partition("\n")[0]
            raise ValueError(
                f"{type(task).__name__}: traceable is True, but evaluate is not JAX code; a task "
                f"in NumPy or any other Python says traceable = False ({cause})"
            ) from error
        if isinstance(error, ValueError) and "read-only" in str(error):
            error.add_note(READ_ONLY)
        if isinstance(error, TypeError) and "PRNGKeyArray" in str(error):
            error.add_note(DRAWING)
        of_workers = getattr(task, "executor", None) is not None  # has the note where it helps
        if not task.traceable and not of_workers and SKIP not in getattr(error, "__notes__", ()):
            error.add_note(SKIP)
        raise
