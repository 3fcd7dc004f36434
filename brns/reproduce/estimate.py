"""How long a reproduction will take on this machine, by timing a few generations of it."""

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from brns.reproduce.alone import cores, side_by_side
from brns.reproduce.ants import chains, options, remaining, shared
from brns.reproduce.plan import Runs, Scale, ant_methods, maze_methods, variants
from brns.reproduce.runs import check_same
from brns.runs.loop import start
from brns.runs.places import holds_runs
from brns.runs.record import records
from brns.search import NoveltySearch

TRIED = 4
"""generations that are run to be timed, and one before them that compiles"""


def estimate(parts: Sequence[str], chosen: Scale, out: Path, workers: int | None = None) -> str:
    """A line a part: the generations that are left to run in `out`, what one takes, and the hours of all.

    The first method is tried and the others are taken to cost as much: nearly all of the time is the world's. What was
    finished already counts no more. Measuring and drawing come on top.
    """
    lines = []
    for part in parts:
        if part == "timing":
            lines.append("timing: has no generations to be timed; of the scale paper it takes hours.")
        elif part == "ant":
            lines.append(_of_ants(chosen, out / "runs" / "ant", workers or len(cores())))
        else:
            methods = maze_methods() if part == "maze" else _ablation(chosen)
            plan = chosen.maze if part == "maze" else chosen.ablation
            lines.append(_of_batches(part, methods, plan, out / "runs" / part))
    return "\n".join(lines)


def _ablation(chosen: Scale) -> dict[str, NoveltySearch]:
    return {name: one.search for name, one in variants().items() if not chosen.variants or name in chosen.variants}


def _of_batches(part: str, methods: Mapping[str, NoveltySearch], plan: Runs, out: Path) -> str:
    """Of methods that run one after another, each a batch of its seeds."""
    left = 0
    for name in methods:
        folder = out / name
        if holds_runs(folder):
            begun = records(folder)
            check_same(begun, plan, folder)
            left += plan.generations - min(record.last for record in begun)
        else:
            left += plan.generations
    if not left:
        return f"{part}: all {len(methods)} methods are done."
    first = next(iter(methods.values()))
    with tempfile.TemporaryDirectory() as trial:
        seconds = _seconds(start(first, TRIED + 1, out=Path(trial) / "run", seeds=range(plan.seeds)))
    return (
        f"{part}: {left} generations of {plan.seeds} seeds each to go, {seconds:.2g} s a generation: "
        f"{_hours(left * seconds)}."
    )


def _of_ants(chosen: Scale, out: Path, sides: int) -> str:
    """Of searches side by side: as many as will run at a time are tried at a time."""
    methods = ant_methods(chosen.ant_steps, chosen.ant.generations)
    plan, forks = chosen.ant, shared(methods, chosen.ant.keep_every)
    left = sum(remaining(out, name, seed, plan, forks) for name in methods for seed in range(plan.seeds))
    if not left:
        return f"ant: all {plan.seeds} seeds of {len(methods)} methods are done."
    trial = plan._replace(generations=TRIED + 1)
    alone = [names[0] for names in chains(methods, plan.keep_every) if len(names) == 1]
    with tempfile.TemporaryDirectory() as folder:
        calls = [[*options(Path(folder), chosen.ant_steps, trial, seed), alone[0]] for seed in range(sides)]
        seconds = _seconds(side_by_side("brns.reproduce.ants", calls, sides), lambda line: line.split()[1])  # the seed
    return (
        f"ant: {left} generations to go of {plan.seeds} seeds of {len(methods)} methods, {sides} side by side, "
        f"{seconds:.2g} s a generation of each: {_hours(left * seconds / sides)}. Ants that walk take longer than "
        "those that were tried."
    )


def _seconds(steps: Iterable[Any], of: Callable[[Any], Hashable] = lambda step: None) -> float:
    """The median time between two generations of the same search, but those before the last `TRIED`."""
    times = defaultdict(list)
    for step in steps:
        times[of(step)].append(time.perf_counter())
    last = [one[-TRIED - 1 :] for one in times.values()]
    return statistics.median(after - before for one in last for before, after in pairwise(one))


def _hours(seconds: float) -> str:
    return f"about {seconds / 3600:.1f} hours" if seconds > 5400 else f"about {max(seconds / 60, 1):.0f} minutes"
