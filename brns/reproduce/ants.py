"""The ants' searches: one seed of one method at a time, each in a process of one core, several side by side.

An ant takes 1500 control steps, a search 25000 ants. Two searches on a core each take less time than two after one
another on two cores, which wait for each other at every step. A search that was stopped goes on where it was; one that
is finished is left as it is. Archives are one search until the smaller is full: the largest is run, and the smaller are
forks of it.

    python -m brns.reproduce.ants --out OUT/runs/ant --steps 1500 --generations 1000 --keep-every 10 --seed 0 NAME ...

is one such process; those named after the first are forks of it. It prints a line a generation.
"""

import argparse
import contextlib
import dataclasses
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from brns.estimators.archive import ArchiveKNN
from brns.reproduce.alone import side_by_side
from brns.reproduce.plan import Runs, ant_methods
from brns.reproduce.runs import check_same
from brns.runs.fork import branch
from brns.runs.loop import Saved, go_on, start
from brns.runs.places import folders, holds_runs
from brns.runs.record import Record, records
from brns.runs.tracking import Track
from brns.search import NoveltySearch
from brns.settings import SettingsError
from brns.workers import Chunked, Dask, innermost


def run_ants(
    methods: Mapping[str, NoveltySearch], plan: Runs, steps: int, out: Path, sides: int, dask: str | None, count: Track
) -> dict[str, list[Record]]:
    """The records of every method, one a seed, as long as planned; goes on where an earlier call was stopped.

    All methods' first seeds come first, then the second. `sides` searches run at a time. Nothing that was computed is
    ever removed: a `ValueError` names a folder that holds something else.
    """
    left, calls = 0, []
    for seed in range(plan.seeds):
        for names in chains(methods, plan.keep_every):
            to_do = [remaining(out, name, seed, plan, shared(methods, plan.keep_every)) for name in names]
            left += sum(to_do)
            for name in [name for name, some in zip(names, to_do, strict=True) if some]:
                begun(methods[name], place(out, name, seed), dask)  # refuses what could not go on
            if any(to_do):
                calls.append([*options(out, steps, plan, seed, dask), *names])
    lines = side_by_side("brns.reproduce.ants", calls, sides)
    for _ in count(lines, f"ant, {plan.seeds} seeds of {len(methods)} methods, generations", left):
        pass
    found = finished(methods, plan, out)
    lacking = [name for name in methods if len(found.get(name, [])) < plan.seeds]
    if lacking:
        raise RuntimeError(f"the searches of {', '.join(lacking)} are not finished; give the command again to go on")
    return found


def finished(methods: Mapping[str, NoveltySearch], plan: Runs, out: Path) -> dict[str, list[Record]]:
    """The records that are as long as planned, of the methods that have any; `ValueError` where there are none."""
    forks = shared(methods, plan.keep_every)
    done = {
        name: [place(out, name, seed) for seed in range(plan.seeds) if not remaining(out, name, seed, plan, forks)]
        for name in methods
    }
    if not any(done.values()):
        raise ValueError(
            f"a page of finished searches needs one with {plan.generations} generations, and {out} has none: give the "
            "command without --finished to go on with them"
        )
    return {name: [Record(folder) for folder in folders] for name, folders in done.items() if folders}


def place(out: Path, name: str, seed: int) -> Path:
    """Where one seed of a method is."""
    return folders(out / name, True, [seed])[0]


def shared(methods: Mapping[str, NoveltySearch], keep_every: int) -> dict[str, int]:
    """The last kept generation up to which a smaller archive's search is that of the largest.

    An archive of c entries to which n are added in a generation is full after c / n.
    """
    archives = {name: search.estimator for name, search in methods.items() if name.startswith("archive-")}
    sizes = {name: one for name, one in archives.items() if isinstance(one, ArchiveKNN)}
    largest = max((one.capacity for one in sizes.values()), default=0)
    return {
        name: one.capacity // one.growth // keep_every * keep_every
        for name, one in sizes.items()
        if one.capacity < largest
    }


def chains(methods: Mapping[str, NoveltySearch], keep_every: int) -> list[list[str]]:
    """Which methods a process runs: one alone, but the archives together, the largest first."""
    forks = sorted(shared(methods, keep_every), key=list(methods).index, reverse=True)
    first = [name for name in methods if name not in forks]
    return [[name, *forks] if name.startswith("archive-") else [name] for name in first]


def remaining(out: Path, name: str, seed: int, plan: Runs, forks: Mapping[str, int]) -> int:
    """How many generations one seed of a method has yet to run."""
    folder = place(out, name, seed)
    if not holds_runs(folder):
        return plan.generations - forks.get(name, 0)
    check_same(records(folder), plan._replace(seeds=1), folder)
    return plan.generations - Record(folder).last


def options(out: Path, steps: int, plan: Runs, seed: int, dask: str | None = None) -> list[str]:
    """The arguments of such a process, but the methods."""
    words = ["--out", out, "--steps", steps, "--generations", plan.generations, "--keep-every", plan.keep_every]
    return [str(word) for word in [*words, "--seed", seed, *(["--dask", dask] if dask else [])]]


def begun(search: NoveltySearch, folder: Path, dask: str | None) -> NoveltySearch:
    """The search as the run in a folder was begun: with its ants in chunks where a cluster evaluated them."""
    if not holds_runs(folder):
        return search
    described = Record(folder).experiment["task"]
    if dask and described["name"] != "Chunked":
        raise SettingsError(f"{folder} was begun without --dask, and its ants round otherwise; go on without")
    chunked = described["name"] == "Chunked"
    return dataclasses.replace(search, task=Chunked(search.task, chunk=described["chunk"]) if chunked else search.task)


def advance(search: NoveltySearch, plan: Runs, folder: Path, seed: int) -> Iterator[list[Saved]]:
    """The generations that one seed of a method lacks."""
    if holds_runs(folder):
        return go_on(folder, plan.generations, search=search)
    return start(search, plan.generations, out=folder, seeds=seed, keep_every=plan.keep_every)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--out", type=Path, required=True)
    for option in ("--steps", "--generations", "--keep-every", "--seed"):
        parser.add_argument(option, type=int, required=True)
    parser.add_argument("--dask")
    asked = parser.parse_args(arguments)
    plan = Runs(1, asked.generations, asked.keep_every)
    methods = ant_methods(asked.steps, asked.generations)
    for name in asked.names:
        folder = place(asked.out, name, asked.seed)
        largest = place(asked.out, asked.names[0], asked.seed)
        whole = begun(methods[name], folder if holds_runs(folder) else largest, asked.dask)
        task = Dask(innermost(whole.task), asked.dask) if asked.dask else whole.task
        search = dataclasses.replace(whole, task=task)
        with task if isinstance(task, Dask) else contextlib.nullcontext():
            if name != asked.names[0] and not folder.exists():
                at = shared(methods, asked.keep_every)[name]
                branch(largest, at, search, out=folder, generations=asked.generations)
            for saved in advance(search, plan, folder, asked.seed):
                if saved[0].number:
                    print(name, asked.seed, saved[0].number, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who began this process, and ends it
    main(sys.argv[1:])
