"""Many machines by simulation: islands that tell each other what they have seen, now and then.

    python benchmarks/islands.py [--islands 64 1024] [--seeds N] [--out results/many-islands]

Each island is a search of its own with visit counts, all of them in one process. When it merges, an
island sends the counters that changed since it last did, and gets those of all others. OUT.csv has
a row for each run and keeps those that it has, so that a call that was stopped goes on; OUT.md is
the page.
"""

import zlib
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int
from pages import make_parser, write_page

import brns
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.formatting import format_csv, read_csv
from brns.metrics.coverage import find_cell_coordinates
from brns.metrics.measures import compute_mean_and_deviation
from brns.runs.files import write_bytes
from brns.runs.provenance import find_brns_commit_or_version

EVALUATIONS = 204_800
INDIVIDUALS = {64: 8, 1024: 2}
"""numbers of islands, with mu and lambda of each"""
ROWS = {64: 8192, 1024: 1024}
"""counters of a grid; 1,024 islands would be 4 GB with the default"""
CELLS = (100, 100)
EVERY = {"every generation": 1, "every 10": 10, "every 100": 100}
"""rules, and after how many generations all islands merge"""
MERGES = (*EVERY, "one in 10, at random", "never")
ONE = "one search"


class Islands(NamedTuple):
    """A number of searches, stacked."""

    search: brns.NoveltySearch
    state: Any
    keys: Any


def begin(number: int, individuals: int, rows: int, seed: int) -> Islands:
    """The islands after their founders; those of the first give all islands their scale."""
    task = brns.LinearProjection()
    estimator = brns.VisitCounts(rows=rows)
    search = brns.NoveltySearch(
        task, estimator, population_size=individuals, offspring_size=individuals
    )
    keys = jax.random.split(jax.random.key(seed), number)
    state = eqx.filter_vmap(search.init)(keys)
    first, _ = search.step(jax.tree.map(lambda rows: rows[0], state), keys[0])
    empty = estimator.start_empty_island(first.estimator)
    shared = jax.tree.map(lambda leaf: jnp.stack([leaf] * number), empty)
    return Islands(search, state._replace(estimator=shared), keys)


def merge(
    visits: Int[np.ndarray, "islands counters"],
    since: Int[np.ndarray, "islands counters"],
    total: Int[np.ndarray, " counters"],
    now: np.ndarray,
) -> tuple[Int[np.ndarray, " counters"], list[int]]:
    """The visits of all islands, after those of `now` told theirs and heard of the others'.

    That is `VisitCounts.merge([total, island], since)` for each of them.

    Returns:
        The total, and the bytes that each of them sent.
    """
    gains = visits[now] - since[now]
    sent = [packed(gain) for gain in gains]
    total = total + gains.sum(axis=0)
    visits[now] = since[now] = total
    return total, sent


def packed(gain: Int[np.ndarray, " counters"]) -> int:
    """Bytes of the counters that changed: their steps from one to the next and gains, by zlib."""
    changed = np.flatnonzero(gain)
    steps = np.diff(changed, prepend=0).astype(np.int32)
    return len(zlib.compress(steps.tobytes() + gain[changed].astype(np.int16).tobytes(), 1))


def who_merges(rule: str, generation: int, number: int, random: np.random.Generator) -> np.ndarray:
    """The islands that merge after a generation."""
    if rule == "one in 10, at random":
        return np.flatnonzero(random.random(number) < 0.1)
    every = EVERY.get(rule)
    return np.arange(number if every and generation % every == 0 else 0)


def run(number: int, rule: str, seed: int) -> dict[str, Any]:
    """What so many islands cover together."""
    offspring = number * INDIVIDUALS[number]
    searches = 1 if rule == ONE else number
    individuals = offspring // searches
    search, state, keys = begin(searches, individuals, ROWS[number], seed)
    step = eqx.filter_jit(eqx.filter_vmap(search.step))
    space, random = search.task.behavior_space, np.random.default_rng(seed)
    covered = np.zeros(CELLS, bool)
    visits = np.array(state.estimator.visits)
    since, total, sent = visits.copy(), visits[0], []

    def cover(descriptors: Any) -> None:
        at = find_cell_coordinates(np.asarray(descriptors).reshape(-1, 2), space, CELLS)
        covered[tuple(at.T)] = True

    cover(state.population.descriptor)
    for generation in range(1, EVALUATIONS // offspring):
        state, facts = step(state, keys)
        cover(facts.offspring.descriptor)
        now = who_merges(rule, generation, len(visits), random)
        if now.size:
            visits = np.array(state.estimator.visits)
            total, bytes_sent = merge(visits, since, total, now)
            sent += bytes_sent
            merged = state.estimator._replace(visits=jnp.asarray(visits))
            state = state._replace(estimator=merged)
    return {
        "islands": number,
        "each": f"{individuals} + {individuals}",
        "merge": rule,
        "seed": seed,
        "cells": int(covered.sum()),
        "bytes": round(sum(sent) / number / (EVALUATIONS // offspring)),
        "commit": find_brns_commit_or_version(),
    }


def text(rows: list[dict[str, Any]]) -> list[str]:
    """The blocks of the page."""
    lines = [["islands", "each", "merge", "cells of 10,000", "bytes sent", "seeds", "commits"]]
    for number in INDIVIDUALS:
        for rule in (ONE, *MERGES):
            runs = [r for r in rows if int(r["islands"]) == number and r["merge"] == rule]
            if not runs or EVALUATIONS // (number * INDIVIDUALS[number]) <= EVERY.get(rule, 1):
                continue  # too few generations for one merge
            mean, deviation, _ = compute_mean_and_deviation([float(run["cells"]) for run in runs])
            sent = np.mean([float(run["bytes"]) for run in runs])
            searches = "1" if rule == ONE else str(number)
            cell = f"{mean:,.0f} ± {deviation:,.0f}" if len(runs) > 1 else f"{mean:,.0f}"
            commits = ", ".join(sorted({run["commit"][:8] for run in runs}))
            facts = [cell, f"{sent:,.0f}", str(len(runs)), commits]
            lines.append([searches, runs[0]["each"], rule, *facts])
    return [
        "# Many islands",
        f"The linear projection with two measures, after {EVALUATIONS:,} evaluations of all "
        "islands together. *Cells* are those that all islands covered, mean ± standard "
        "deviation over seeds. *Bytes* are what an island sends in a generation, on average: "
        "only counters that changed, compressed. *At random*: each island merges after a random "
        "tenth of its generations, with what the others have sent by then. 1,024 islands and "
        "their *one search* have 1,024 counters a grid, all others the default 8,192.",
        format_table(lines),
        format_command_and_provenance("The mixture is the default of each row's commits."),
    ]


def main() -> None:
    parser = make_parser(__doc__, "results/many-islands", seeds=3)
    parser.add_argument("--islands", type=int, nargs="+", choices=ROWS, default=list(ROWS))
    asked = parser.parse_args()
    page, file = asked.out.with_suffix(".md"), asked.out.with_suffix(".csv")
    page.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = list(read_csv(file))
    done = {(int(row["islands"]), row["merge"], int(row["seed"])) for row in rows}
    for seed in range(asked.seeds):
        for number in asked.islands:
            for rule in (ONE, *MERGES):
                if (number, rule, seed) in done:
                    continue
                rows.append(run(number, rule, seed))
                print(rows[-1], flush=True)
                write_bytes(file, format_csv(rows).encode())
    write_page(page, *text(rows))


if __name__ == "__main__":
    main()
