"""The check of a task of your own."""

import warnings
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.checks.generations import explain_task_errors
from brns.checks.parts import check_part, check_spaces, require_integer
from brns.core import Box, Evaluation, Task
from brns.core.evaluation import as_evaluation
from brns.core.population import copy_to_host, take_rows
from brns.settings.description import check_recordable, part_to_json
from brns.settings.differences import find_differences
from brns.settings.edits import CHANGED_SETTINGS, discard_compiled_if_edited, ignore_side_effects
from brns.settings.sources import UserCode

FORGETS = (
    ". An environment whose reset does not forget the episode before, such as BipedalWalker-v3, "
    "needs GymnasiumTask(..., remake=True)"
)


def check_task(
    task: Task, n: int = 8, sizes: Sequence[int] | None = None, tolerance: float = 0.0
) -> None:
    """Raise a `ValueError` that says what is wrong with a task, or print what it gave.

    Evaluates `n` uniform genotypes and checks: settings that a record can keep; shapes and types;
    descriptors inside the behavior space and finite fitness; the same bits for the same genotypes
    and key; row i depends on genotype i alone (in another order, beside others, in other batches);
    a traceable task gives compiled what it gives uncompiled. A simulator of exactly 64
    environments is checked by `check_task(task, n=64, sizes=())`.

    Batches may round differently: all rows must agree to 0.1 %, in a smaller batch, or compiled,
    half of them.

    Args:
        task: the task.
        n: genotypes evaluated at once.
        sizes: of other batches of the same genotypes; by default one of n - 1.
        tolerance: how far a genotype may be from itself, as a share of the box or of the fitness,
            for simulators that add in any order, such as physics on a GPU (about 1e-5).

    Raises:
        ValueError: with the first of these that does not hold, and what to do.
    """
    check_part("task", task, Task)
    check_spaces(task)
    check_recordable(task, "task")
    n = require_integer("n", n)
    name, box = f"{type(task).__name__}.evaluate", task.behavior_space
    draw, key = jax.random.split(jax.random.key(0))
    genotypes = np.asarray(task.genotype_space.uniform(draw, n))

    def evaluate(batch: Float[Array, "m p"], key: Key[Array, ""]) -> Evaluation:
        with explain_task_errors(task):
            evaluation = task.evaluate(batch, key)
        return as_evaluation(evaluation, len(batch), task)

    def evaluate_on_host(batch: Float[np.ndarray, "m p"]) -> Evaluation:
        return copy_to_host(evaluate(jnp.asarray(batch), key))

    settings = part_to_json(task)
    forgets = "" if task.traceable else FORGETS
    near = {"rtol": max(tolerance, 1e-3), "atol": max(tolerance, 1e-6)}
    code = UserCode(task)
    discard_compiled_if_edited(code)
    first = evaluate_on_host(genotypes)
    _check_descriptors_and_fitness(name, first, box)
    again = evaluate_on_host(genotypes)
    agree = _find_agreeing_rows(task, again, first, tolerance, tolerance)
    if not agree.all():
        raise ValueError(
            f"{name} must give the same result for the same genotypes and key; "
            f"{(~agree).sum()} of {n} genotypes gave something else, "
            f"{_describe_evaluation_differences(again, first, box)}. Some simulators take a "
            "seed of 0 for none: try another, as in GymnasiumTask(..., seed=1). Where a "
            f"simulator cannot, give check_task the tolerance that it needs{forgets}"
        )
    sizes = [n - 1] if sizes is None else sizes
    for where, batch, row in _make_batch_variants(task, genotypes, sizes):
        same = take_rows(evaluate_on_host(batch), np.flatnonzero(row >= 0))
        before = take_rows(first, row[row >= 0])
        agree = _find_agreeing_rows(task, same, before, **near)
        if agree.mean() < (1 if len(batch) == n else 0.5):
            raise ValueError(
                f"row i of {name} must depend on genotype i and the key alone; "
                f"{(~agree).sum()} of {agree.size} genotypes gave something else "
                f"{where}{forgets}"
            )
    if task.traceable:
        compiled = jax.jit(evaluate)(genotypes, key)
        if _find_agreeing_rows(task, compiled, first, **near).mean() < 0.5:
            raise ValueError(f"{name} must give compiled, by jax.jit, what it gives otherwise")
    ignore_side_effects(code.texts, UserCode(task))
    changed = find_differences(settings, part_to_json(task))
    CHANGED_SETTINGS.setdefault(type(task), set()).update(changed)
    if changed:
        warnings.warn(
            f"evaluate changed {', '.join(changed)} of {type(task).__name__}, which a run takes "
            "for settings: begin such names with _, and give __init__ no argument of that name",
            stacklevel=2,
        )
    print(_format_evaluation_summary(task, first))


def _format_evaluation_summary(task: Task, evaluation: Evaluation) -> str:
    """What a sound task gave, for its author to see whether it is what was meant."""
    failed, box = evaluation.failed, task.behavior_space
    if failed.all():
        return f"{type(task).__name__}: all of {len(failed)} random genotypes failed"
    behaviors, fitness = evaluation.descriptor[~failed], evaluation.fitness[~failed]
    ends = behaviors.min(axis=0), behaviors.max(axis=0), box.low, box.high
    least, most, low, high = (np.array2string(np.asarray(x), 80, 3, threshold=6) for x in ends)
    return (
        f"{type(task).__name__} is sound. Of {len(failed)} random genotypes of "
        f"{task.genotype_space.dimension} genes:\n"
        f"behaviors from {least} to {most}, in a box from {low} to {high}\n"
        f"fitness from {fitness.min():.3g} to {fitness.max():.3g}, "
        f"{np.sum(evaluation.solved)} solved, {failed.sum()} failed"
    )


def _check_descriptors_and_fitness(name: str, evaluation: Evaluation, box: Box) -> None:
    """Refuse what is not finite, and descriptors outside the box, of those who did not fail."""
    living = ~evaluation.failed
    descriptor = evaluation.descriptor[living]
    if not (np.isfinite(descriptor).all() and np.isfinite(evaluation.fitness)[living].all()):
        what = "a descriptor or fitness that is not finite"
        raise ValueError(f"{name} gave {what} for genotypes in the box")
    low, high = np.asarray(box.low), np.asarray(box.high)
    outside = (descriptor < low) | (descriptor > high)
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise ValueError(
            f"{name} gave {outside.any(axis=1).sum()} of {len(living)} descriptors outside "
            f"behavior_space, such as one with {descriptor[i, j]} in dimension {j + 1} of "
            f"{len(low)}, from {low[j]:g} to {high[j]:g}; widen the box or clip the descriptor"
        )


def _make_batch_variants(
    task: Task, genotypes: Float[np.ndarray, "n p"], sizes: Sequence[int]
) -> list[tuple[str, Float[np.ndarray, "m p"], np.ndarray]]:
    """Other batches of the same genotypes, with the row that each was before, or -1 for another."""
    n = len(genotypes)
    rows = np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    moved = np.empty(n, int)
    moved[order] = np.roll(order, 1)  # one cycle through all rows: every one gets another place
    others = np.asarray(task.genotype_space.uniform(jax.random.key(1), n))
    variants = [("in another order", genotypes[moved], moved)]
    for fixed in (rows % 2 == 0, rows % 2 == 1):
        beside = np.where(fixed[:, None], genotypes, others)
        variants.append(("beside other genotypes", beside, np.where(fixed, rows, -1)))
    return variants + [(f"in a batch of {size}", genotypes[:size], rows[:size]) for size in sizes]


def _describe_evaluation_differences(a: Evaluation, b: Evaluation, box: Box) -> str:
    """How far the results of those who failed in neither are from each other."""
    living = ~(a.failed | b.failed)
    far = np.abs((a.descriptor - b.descriptor)[living]) / np.asarray(box.high - box.low)
    fitness = np.abs((a.fitness - b.fitness)[living])
    most = fitness.max(initial=0)
    return f"up to {far.max(initial=0):.2g} of the box away and {most:.2g} in fitness"


def _find_agreeing_rows(
    task: Task, first: Evaluation, second: Evaluation, rtol: float, atol: float
) -> np.ndarray:
    """The rows in which both failed, or which are near each other and solve the task alike."""
    width = np.asarray(task.behavior_space.high - task.behavior_space.low)
    distance = np.abs(np.asarray(first.descriptor) - np.asarray(second.descriptor))
    near = (distance <= rtol * width).all(axis=1)
    near &= np.isclose(first.fitness, second.fitness, rtol=rtol, atol=atol)
    same = near & np.equal(first.solved, second.solved)
    failed, other = np.asarray(first.failed), np.asarray(second.failed)
    return np.where(failed | other, failed == other, same)
