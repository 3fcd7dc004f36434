"""Methods of pyribs in comparisons: against its own loops, beside ours, and without pyribs."""

import sys
from importlib import metadata

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_tasks import HostIdentity, altered

import brns
from brns.comparison import peers
from brns.comparison.measure import find_generations_at_fractions, run_method
from brns.comparison.run import _make_methods
from brns.comparison.worlds import Cells, make_world_of_task

pytest.importorskip("ribs")
from ribs.archives import DensityArchive, GridArchive, ProximityArchive
from ribs.emitters import EvolutionStrategyEmitter, GaussianEmitter, IsoLineEmitter
from ribs.schedulers import Scheduler

SIDE, GENERATIONS, SEED = 12, 6, 3
CELLS = Cells((0.0, 0.0), (600.0, 600.0), SIDE, SIDE**2, "all cells")
RANGES = [(0.0, 600.0)] * 2


class Counted(HostIdentity):
    """The task on the host, which counts what it evaluates."""

    def evaluate(self, genotypes, key):
        assert np.abs(genotypes).max() <= 1
        evaluated.append(len(genotypes))
        return super().evaluate(genotypes, key)


evaluated = []


def search(task, born=72):
    return brns.NoveltySearch(task, brns.PopulationKNN(k=3), 8, born, brns.PolynomialMutation())


def strategies(archive, ranker):
    """Two strategies of 36, which begin in the middle of the unit box."""
    begun = {"x0": np.full(5, 0.5), "sigma0": 0.1, "batch_size": 36}
    rules = {"ranker": ranker, "selection_rule": "mu", "restart_rule": "basic"}
    seeds = np.random.SeedSequence(SEED).spawn(2)
    return [EvolutionStrategyEmitter(archive, **begun, **rules, seed=seed) for seed in seeds]


def grid(**settings):
    return GridArchive(solution_dim=5, dims=(SIDE, SIDE), ranges=RANGES, seed=SEED, **settings)


def novelty_search(fitness):
    nearest = {"k_neighbors": 15, "novelty_threshold": 12.0}
    archive = ProximityArchive(solution_dim=5, measure_dim=2, **nearest, seed=SEED)
    return Scheduler(archive, strategies(archive, "nov"))


def density_descent(fitness):
    kept = grid()
    density = {"density_method": "kde", "bandwidth": 30.0}
    archive = DensityArchive(measure_dim=2, buffer_size=10_000, **density, seed=SEED)
    return Scheduler(archive, strategies(kept, "density"), kept)


def cma_mae(fitness):
    archive = grid(learning_rate=0.01, threshold_min=float(2 * fitness.min() - fitness.max()))
    return Scheduler(archive, strategies(archive, "imp"))


def map_elites(fitness):
    archive = grid()
    sigmas = {"iso_sigma": 0.01, "line_sigma": 0.2}
    emitter = IsoLineEmitter(archive, **sigmas, x0=np.zeros(5), batch_size=72, seed=SEED)
    return Scheduler(archive, [emitter])


def literal(scheduler, founders):
    """How many cells a plain loop of pyribs has visited after each generation."""
    archives = {scheduler.archive, scheduler.result_archive}
    genotypes, seen, covered = founders, set(), []
    for _ in range(GENERATIONS + 1):
        told = HostIdentity().evaluate(genotypes.astype(np.float32), None)
        seen |= {tuple(cell) for cell in np.clip(told.descriptor // (600 / SIDE), 0, SIDE - 1)}
        covered.append(len(seen))
        if genotypes is founders:
            for archive in archives:
                archive.add((founders + 1) / 2, told.fitness, told.descriptor)
        else:
            scheduler.tell(told.fitness, told.descriptor)
        solutions = scheduler.ask()
        beyond = np.abs(solutions - 2 * np.round(solutions / 2))  # reflected at 0 and 1
        genotypes = np.float32(-1) + np.float32(2) * beyond
    return covered


COMPILED = pytest.mark.slow  # for 6 s, by Numba


@pytest.mark.parametrize(
    ("name", "scheduler"),
    [
        ("MAP-Elites", map_elites),
        pytest.param("CMA-MAE", cma_mae, marks=COMPILED),
        pytest.param("novelty search", novelty_search, marks=COMPILED),
        pytest.param("density descent", density_descent, marks=COMPILED),
    ],
)
def test_a_peer_covers_what_a_loop_of_pyribs_covers(name, scheduler):
    own, peer = search(HostIdentity()), peers.PEERS[f"pyribs, {name}"]
    facts = run_method(own, make_world_of_task(own.task, 8, GENERATIONS, CELLS), [SEED], peer=peer)
    founders = own.init(jax.random.key(SEED)).population
    covered = literal(scheduler(np.asarray(founders.fitness)), np.asarray(founders.genotype))
    expected = np.array(covered)[find_generations_at_fractions(GENERATIONS)]
    assert_array_equal(facts.covered[0], expected)
    assert covered[0] < covered[-1]


def wandering(terms):
    """A peer of one's own."""
    archive = GridArchive(solution_dim=5, dims=terms.dims, ranges=terms.ranges)
    emitter = GaussianEmitter(
        archive, sigma=0.1, x0=terms.x0, batch_size=terms.offspring_size, seed=terms.seed
    )
    return Scheduler(archive, [emitter])


METHODS = {"near": brns.PopulationKNN(k=3), "MAP-Elites": peers.MapElites(), "own": wandering}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("peers") / "own"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brns.pictures.style.save", lambda *_, **__: None)
        return brns.compare(search(Counted(), born=6), METHODS, seeds=2, generations=5, out=out)


def test_all_methods_have_as_many_founders_and_evaluations(compared):
    assert evaluated.count(8) == 2 * len(METHODS)
    assert evaluated.count(6) == 2 * len(METHODS) * 5


def test_what_a_peer_does_not_know_is_left_empty(compared):
    known = {(row["method"], row["measure"]) for row in compared.rows}
    assert {("MAP-Elites", "coverage_100"), ("near", "eta")} <= known
    assert not {("MAP-Elites", "eta"), ("own", "kappa")} & known
    page = compared.out.with_suffix(".md").read_text()
    assert "nan" not in page
    assert "pyribs' methods have none" in page
    (line,) = [line for line in page.splitlines() if line.startswith("- Runs: MAP-Elites")]
    assert f"ribs {metadata.version('ribs')}" in line


def test_operators_are_for_estimators_alone():
    mutations = {"polynomial": brns.PolynomialMutation(), "mixed": brns.MixedMutation()}
    ours = ["near, polynomial", "near, mixed"]
    assert list(_make_methods(METHODS, mutations)) == [*ours, "MAP-Elites", "own"]


def test_without_pyribs_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ribs", None)
    with pytest.raises(ImportError, match=r"brns\[peers\]"):
        brns.compare("arm", METHODS, out=tmp_path)
    assert not list(tmp_path.iterdir())


class Solid(HostIdentity):
    """Behaviors of three dimensions."""

    behavior_space: brns.Box = brns.Box([0.0] * 3, [600.0] * 3)

    def evaluate(self, genotypes, key):
        planar = super().evaluate(genotypes, key)
        return planar._replace(descriptor=300 + 300 * np.asarray(genotypes)[:, :3])


def test_behaviors_without_a_grid_have_centroids(monkeypatch):
    monkeypatch.setattr(peers, "CENTROIDS", 30)
    told = []

    def peer(terms):
        told.append(terms)
        return peers.MapElites()(terms)

    world = make_world_of_task(Solid(), 8, 4, CELLS)
    (covered,) = run_method(search(Solid()), world, [0], peer=peer).covered
    assert covered[-1] > covered[0]
    assert told[0].dims is None
    assert peers._place_centroids(told[0].ranges).shape == (30, 3)


@pytest.mark.slow
def test_individuals_that_fail_end_a_peer_and_lie_in_no_cell():
    failing = altered(lambda e, g, key: e._replace(failed=np.asarray(g)[:, 0] > 0))
    world = make_world_of_task(failing, 8, 3, CELLS)
    with pytest.raises(ValueError, match="need a result of every individual, and"):
        run_method(search(failing), world, [0], peer=peers.MapElites())
    people = brns.core.Population.from_descriptors([[10.0, 10.0], [500.0, 500.0]])
    visited = CELLS.find_visited_cells(people._replace(failed=np.array([False, True])))
    assert visited.sum() == 1


def test_a_method_evaluates_as_many_as_the_others():
    def wide(config):
        archive = grid()
        return Scheduler(archive, [GaussianEmitter(archive, sigma=0.1, x0=config.x0)])

    world = make_world_of_task(HostIdentity(), 8, 2)
    with pytest.raises(ValueError, match=r"must ask for 72 solutions .* for 64"):
        run_method(search(HostIdentity()), world, [0], peer=wide)


def test_a_function_that_makes_no_scheduler_is_named_with_what_it_made():
    world = make_world_of_task(HostIdentity(), 8, 2)
    with pytest.raises(ValueError, match=r"PeerConfig; .* made 3$"):
        run_method(search(HostIdentity()), world, [0], peer=lambda config: 3)
