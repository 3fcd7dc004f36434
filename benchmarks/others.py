"""Methods in worlds that other people made, at equal evaluations.

    python benchmarks/others.py [--worlds NAME ...] [--seeds N] [--generations N] [--out OUT]

Needs the dependency group `others`, whose versions are pinned, in an environment of its own:
`uv pip install -e . --group others`. Resumable: what a method evaluated with a seed is a file in
runs/others. OUT.csv gets its rows when a world is done, and keeps those of worlds that were not
asked for; the page OUT.md is written of all of them at the end, and alone with `--worlds` and no
name. OUT is by default results/others.

Coverage is counted twice: in a grid over the last two numbers of the behavior, as the world's users
do, and in a tessellation of the descriptor's own space: k-means over what all methods evaluated
with a seed that is not counted.
"""

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import qdax_peers
from jaxtyping import Float
from pages import make_parser, mark_differences, write_page
from scipy.cluster.vq import kmeans2
from scipy.spatial import KDTree

import brns
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.comparison.peers import (
    CENTROIDS,
    CMAMAE,
    MapElites,
    NoveltyCMA,
    Peer,
    iterate_peer_offspring,
)
from brns.comparison.worlds import Cells
from brns.core import Mutation
from brns.formatting import format_csv, read_csv
from brns.metrics.coverage import find_cell_coordinates
from brns.metrics.measures import compute_mean_and_deviation
from brns.runs.files import write_bytes
from brns.runs.provenance import find_brns_commit_or_version

TILES = 500
"""cells of the tessellation; a number between those of the grids"""
UNCOUNTED = 1000
"""the seed whose behaviors make the tessellation"""
POINTS = 20_000
"""of those, drawn evenly, from which the tessellation is made"""
NUMBERS = ("grid", "tiles", "seconds")
RUNS = Path("runs/others")


class OtherWorld(NamedTuple):
    """A world by other people."""

    title: str
    task: Callable[[], brns.Task]
    low: tuple[float, float]
    high: tuple[float, float]
    side: int
    """the grid of `side` x `side` cells over the last two numbers of the behavior"""
    individuals: int
    """mu and lambda"""
    generations: int


ESTIMATORS = {
    "counts": brns.VisitCounts(),
    "exact": brns.ExactRecognition(),
    "BR-NS": brns.BehaviorRecognition(),
    "archive": brns.ArchiveKNN(),
}
MUTATIONS = {"mixture": brns.MixedMutation(), "polynomial": brns.PolynomialMutation()}
OURS: dict[str, tuple[brns.NoveltyEstimator, Mutation]] = {
    f"{name}, {operator}": (estimator, mutation)
    for name, estimator in ESTIMATORS.items()
    for operator, mutation in MUTATIONS.items()
}
OURS["random search"] = brns.PopulationKNN(k=1), brns.UniformResampling()
THEIRS: dict[str, Peer] = {
    "pyribs, novelty search": NoveltyCMA(),
    "pyribs, CMA-MAE": CMAMAE(),
    "pyribs, MAP-Elites": MapElites(),
    "QDax, MAP-Elites": qdax_peers.QDaxMapElites(),
    "QDax, dominated novelty search": qdax_peers.DominatedNovelty(),
}
METHODS = (*OURS, *THEIRS)
REFERENCE = METHODS[0]


def kheperax() -> brns.Task:
    """The standard maze; the behavior is where the robot ends."""
    jax.tree_leaves = jax.tree.leaves  # ty: ignore[missing-attribute] # kheperax 0.2 is older
    from kheperax.tasks.config import KheperaxConfig
    from kheperax.tasks.main import KheperaxTask

    env = KheperaxTask(KheperaxConfig.get_default())

    def where(state: Any) -> Any:
        return env.get_xy_pos(state.robot)

    return brns.JaxEnvironmentTask(env, 250, brns.Box([0.0, 0.0], [1.0, 1.0]), watch=where)


def jumanji_maze() -> brns.Task:
    """A maze of 10 x 10 cells; the behavior is where the walker is half-way and at the end."""
    import jumanji

    def where(adapted: Any) -> Any:
        place = adapted.state.agent_position
        return jax.numpy.stack([place.row, place.col])

    env = brns.TimeStepEnv(jumanji.make("Maze-v0"))
    space = brns.Box([0.0] * 4, [9.0] * 4)
    return brns.JaxEnvironmentTask(env, 50, space, brns.Waypoints(2), watch=where)


def gymnax_car() -> brns.Task:
    """A car too weak for its hill; the behavior is place and speed half-way and at the end."""
    import gymnax

    env = brns.ParamsEnv(*gymnax.make("MountainCarContinuous-v0"))
    space = brns.Box([-1.2, -0.07] * 2, [0.6, 0.07] * 2)
    return brns.JaxEnvironmentTask(env, 200, space, brns.Waypoints(2))


def hard_maze() -> brns.Task:
    """The maze of Lehman & Stanley; the behavior is where the robot ends."""
    return brns.GymnasiumTask(
        "gymnasium_hardmaze:HardMaze-v0",
        watch=lambda env: env.env.robot.location,
        behavior_space=brns.Box([0.0, 0.0], [600.0, 600.0]),
        steps=200,
    )


def point_maze() -> brns.Task:
    """A ball in a maze; the behavior is where it is half-way and at the end."""
    return brns.GymnasiumTask(
        "gymnasium_robotics:PointMaze_Medium-v3",
        describe=brns.Waypoints(2, select=(0, 1)),
        behavior_space=brns.Box([-4.0] * 4, [4.0] * 4),
        steps=150,
    )


def four_rooms() -> brns.Task:
    """A grid world of four rooms, seen by a camera of 7 x 7;
    the behavior is where the agent ends.
    """
    import gymnasium

    def make() -> Any:
        env = gymnasium.make("minigrid:MiniGrid-FourRooms-v0")
        return gymnasium.wrappers.FilterObservation(env, ["direction", "image"])

    space = brns.Box([0.0, 0.0], [19.0, 19.0])
    return brns.GymnasiumTask(make, watch=lambda env: env.agent_pos, behavior_space=space, steps=60)


def push_t() -> brns.Task:
    """A finger and a T that it pushes: the behavior is where both are at the end."""
    return brns.GymnasiumTask(
        "gym_pusht:gym_pusht/PushT-v0", describe=brns.Waypoints(select=(0, 1, 2, 3)), steps=60
    )


WORLDS = {
    "kheperax": OtherWorld("kheperax 0.2", kheperax, (0, 0), (1, 1), 50, 100, 100),
    "hard-maze": OtherWorld("gymnasium-hardmaze", hard_maze, (0, 0), (600, 600), 30, 50, 60),
    "point-maze": OtherWorld("Gymnasium-Robotics", point_maze, (-4, -4), (4, 4), 40, 50, 60),
    "four-rooms": OtherWorld("MiniGrid", four_rooms, (0, 0), (19, 19), 19, 50, 60),
    "push-t": OtherWorld("gym-pusht", push_t, (0, 0), (512, 512), 20, 50, 60),
    "gymnax-car": OtherWorld("gymnax", gymnax_car, (-1.2, -0.07), (0.6, 0.07), 40, 50, 100),
    "jumanji-maze": OtherWorld("jumanji", jumanji_maze, (0, 0), (9, 9), 9, 50, 100),
}


class Evaluated(NamedTuple):
    """What a method evaluated with a seed."""

    descriptor: Float[np.ndarray, "g n d"]
    """the founders first"""
    seconds: float
    """of wall time, without the first generation, in which JAX compiles"""
    commit: str


def offspring(
    world: OtherWorld, task: brns.Task, method: str, seed: int
) -> Iterator[Float[np.ndarray, "n d"]]:
    """The founders' behaviors, then those of each generation, without end."""
    estimator, mutation = OURS.get(method, (brns.PopulationKNN(k=1), brns.PolynomialMutation()))
    n, key = world.individuals, jax.random.key(seed)
    search = brns.NoveltySearch(
        task, estimator, mutate=mutation, population_size=n, offspring_size=n
    )
    state = search.init(key)
    yield np.asarray(state.population.descriptor)
    if method in THEIRS:
        grid = Cells(world.low, world.high, world.side, world.side**2, "all")
        for born in iterate_peer_offspring(THEIRS[method], search, grid, seed, state):
            yield np.asarray(born.descriptor)
    while True:
        state, generation = search.step(state, key)
        yield np.asarray(generation.offspring.descriptor)


def evaluated(
    name: str, task: Callable[[], brns.Task], method: str, seed: int, generations: int
) -> Evaluated:
    """What a method evaluates, from its file if it has one."""
    file = (
        RUNS / f"{name}-{generations}" / f"{method.replace(', ', '-').replace(' ', '-')}-{seed}.npz"
    )
    if not file.exists():
        began, rows = time.perf_counter(), []
        for number, descriptor in enumerate(offspring(WORLDS[name], task(), method, seed)):
            rows.append(descriptor)
            if number == 1:
                began = time.perf_counter()
            if number == generations:
                break
        seconds = time.perf_counter() - began
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(".aside.npz")
        np.savez_compressed(
            aside, descriptor=np.stack(rows), seconds=seconds, commit=find_brns_commit_or_version()
        )
        aside.replace(file)
        print(f"{name}, {method}, seed {seed}: {seconds:.0f} s", flush=True)
    with np.load(file) as stored:
        return Evaluated(stored["descriptor"], float(stored["seconds"]), str(stored["commit"]))


def tiles(points: Float[np.ndarray, "n d"]) -> KDTree:
    """The centers of the tessellation of these points of the unit box."""
    distinct = np.unique(points, axis=0)
    random = np.random.default_rng(0)
    drawn = random.permutation(distinct)[:POINTS]
    number = min(TILES, max(1, len(drawn) // 4))
    centers, _ = kmeans2(drawn.astype(float), number, minit="++", seed=0)
    return KDTree(centers)


def rows_of(name: str, seeds: int, generations: int | None) -> list[dict[str, Any]]:
    """Coverage and time of every method and seed in a world."""
    world = WORLDS[name]
    generations = generations or world.generations
    task = functools.cache(world.task)
    space = task().behavior_space
    low, width = np.asarray(space.low), np.asarray(space.high - space.low)

    def unit(method: str, seed: int) -> tuple[np.ndarray, Evaluated]:
        run = evaluated(name, task, method, seed, generations)
        return (run.descriptor.reshape(-1, len(low)) - low) / width, run

    methods = [method for method in METHODS if task().traceable or not method.startswith("QDax")]
    tree = tiles(np.concatenate([unit(method, UNCOUNTED)[0] for method in methods]))
    box, rows = brns.Box(np.array(world.low, float), np.array(world.high, float)), []
    for seed in range(seeds):
        for method in methods:
            points, run = unit(method, seed)
            place = run.descriptor.reshape(-1, len(low))[:, -2:]
            rows.append(
                {
                    "world": name,
                    "method": method,
                    "seed": seed,
                    "evaluations": len(points),
                    "grid": len(
                        np.unique(find_cell_coordinates(place, box, (world.side,) * 2), axis=0)
                    ),
                    "tiles": len(np.unique(tree.query(points)[1])) / tree.n,
                    "seconds": round(run.seconds, 2),
                    "commit": run.commit,
                }
            )
    return rows


def stored_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of an earlier call; a world that is asked for again is measured anew."""
    rows: list[dict[str, Any]] = list(read_csv(file))
    for row in rows:
        for column in NUMBERS:
            row[column] = float(row[column])
        for column in ("seed", "evaluations"):
            row[column] = int(row[column])
    return rows


def by_method(rows: list[dict[str, Any]], name: str, measure: str) -> Mapping[str, list[float]]:
    return {
        method: [row[measure] for row in rows if (row["world"], row["method"]) == (name, method)]
        for method in METHODS
    }


def methods_of(rows: list[dict[str, Any]]) -> list[str]:
    """Those that have rows, in their order."""
    present = {row["method"] for row in rows}
    return [method for method in METHODS if method in present]


def coverage_table(rows: list[dict[str, Any]], names: list[str], measure: str) -> str:
    """A method a row, a world a column, and the median over worlds of a method's rank."""
    methods, values = methods_of(rows), {}
    for name in names:
        covered = by_method(rows, name, measure)
        values |= {(name, method): covered[method] for method in methods if covered[method]}
    marks = mark_differences(values, REFERENCE)
    places = [[(name, method) for name in names] for method in methods]
    means = np.array([[np.mean(values.get(place, np.nan)) for place in row] for row in places])
    ranks = np.where(np.isnan(means), np.nan, 1 + (means[:, None] < means[None]).sum(axis=1))
    lines = [["method", *names, "median rank"]]
    for method, mean, rank in zip(methods, means, ranks, strict=True):
        line = [method]
        for name, value in zip(names, mean, strict=True):
            if np.isnan(value):
                line.append("")
                continue
            _, deviation, _ = compute_mean_and_deviation(values[name, method])
            mark = marks.get((name, method), "")
            line.append(f"{mark}{value:.3g} ± {deviation:.2g}{mark}")
        lines.append([*line, f"{np.nanmedian(rank):g}"])
    return format_table(lines)


def of_one_commit(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """A world's rows of the commit at which most methods ran, and most often."""
    here = [row for row in rows if row["world"] == name]

    def methods_and_rows(commit: str) -> tuple[int, int]:
        methods = [row["method"] for row in here if row["commit"] == commit]
        return len(set(methods)), len(methods)

    chosen = max(sorted({row["commit"] for row in here}), key=methods_and_rows)
    return [row for row in here if row["commit"] == chosen]


def time_table(rows: list[dict[str, Any]], names: list[str]) -> str:
    lines = [["method", *names]]
    comparable = {name: of_one_commit(rows, name) for name in names}
    for method in methods_of(rows):
        seconds = (by_method(comparable[name], name, "seconds")[method] for name in names)
        lines.append([method, *(f"{np.median(each):.3g}" if each else "" for each in seconds)])
    return format_table(lines)


def world_table(rows: list[dict[str, Any]], names: list[str]) -> str:
    lines = [["world", "from", "what", "evaluations", "seeds", "grid"]]
    for name in names:
        world, (first, *_) = WORLDS[name], [row for row in rows if row["world"] == name]
        what = " ".join((world.task.__doc__ or "").split())
        seeds = len(by_method(rows, name, "grid")[REFERENCE])
        grid = f"{world.side} x {world.side}"
        evaluations = f"{first['evaluations']:,}"
        lines.append([name, world.title, what, evaluations, str(seeds), grid])
    return format_table(lines)


def text(rows: list[dict[str, Any]]) -> list[str]:
    """The blocks of the page."""
    names = list(dict.fromkeys(row["world"] for row in rows))
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    return [
        "# Worlds of others",
        "Coverage of all evaluated individuals, mean ± standard deviation over seeds. **Bold**: "
        f"more than {REFERENCE}, *italic*: less, by Wilcoxon's signed ranks over shared "
        "seeds, exact, two-sided, p < 0.05 after Holm's correction over all methods and "
        "worlds of the table. With ten seeds and so many comparisons no p can be so low. QDax's "
        "methods run in the worlds that are JAX code, and their ranks are from these worlds. "
        "Dominated novelty search has a population of 1,024, as in its source, which so few "
        "evaluations hardly fill. MAP-Elites, CMA-MAE and dominated novelty search also select "
        "by the worlds' reward.",
        "## Cells of the grid",
        coverage_table(rows, names, "grid"),
        "## Share of the descriptor's own space",
        coverage_table(rows, names, "tiles"),
        "## Seconds a run, median of wall time",
        "On one core, without the first generation, in which JAX compiles. Compare times only "
        "within a world: those of another world may be of another commit, and of a day on which "
        "the machine had other work.",
        time_table(rows, names),
        "## The worlds",
        world_table(rows, names),
        "pyribs' archives have the world's grid if the behavior has two numbers, otherwise "
        f"{CENTROIDS} cells of a tessellation. As far as we know, nobody has published numbers "
        "for as many evaluations of these worlds, so the tables have none.",
        format_command_and_provenance(f"Runs: `python benchmarks/others.py` at commits {commits}."),
    ]


def main() -> None:
    parser = make_parser(__doc__, "results/others", seeds=10)
    parser.add_argument("--worlds", nargs="*", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--generations", type=int, help="by default each world's own")
    asked = parser.parse_args()
    page, file = asked.out.with_suffix(".md"), asked.out.with_suffix(".csv")
    page.parent.mkdir(parents=True, exist_ok=True)
    rows = [row for row in stored_rows(file) if row["world"] not in asked.worlds]
    for name in asked.worlds:
        rows += rows_of(name, asked.seeds, asked.generations)
        rows.sort(key=lambda row: list(WORLDS).index(row["world"]))
        write_bytes(file, format_csv(rows).encode())
    write_page(page, *text(rows))


if __name__ == "__main__":
    main()
