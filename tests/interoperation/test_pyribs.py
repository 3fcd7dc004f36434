"""Against pyribs' own archive and schedulers; and elites by hand."""

import jaxtyping
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import HOST
from stores import run_in_memory

import brns
from brns.metrics.coverage import find_cell_coordinates
from brns.metrics.elites import elites, qd_score

pytest.importorskip("ribs")
from ribs.archives import GridArchive, ProximityArchive
from ribs.emitters import EvolutionStrategyEmitter, GaussianEmitter
from ribs.schedulers import Scheduler

from brns.interoperation.pyribs import NoveltyArchive

SPACE = brns.Box([0.0, 0.0], [10.0, 10.0])


def test_novelty_is_that_of_pyribs_where_the_neighbours_are_archived():
    """Three archived behaviors around each of nine far places, and one new behavior there:
    its 3 nearest are those."""
    random, k = np.random.default_rng(0), 3
    places = np.array([(x, y) for x in (1, 5, 9) for y in (1, 5, 9)], float)
    seen = (places[:, None] + random.uniform(-0.3, 0.3, (9, k, 2))).reshape(-1, 2)
    new = places + random.uniform(-0.3, 0.3, (9, 2))
    ours = NoveltyArchive(brns.ArchiveKNN(k=k, additions=27, capacity=100), SPACE, solution_dim=4)
    theirs = ProximityArchive(solution_dim=4, measure_dim=2, k_neighbors=k, novelty_threshold=0.0)
    for archive in (ours, theirs):
        archive.add(np.zeros((27, 4)), np.zeros(27), seen)
    found = ours.add(np.zeros((9, 4)), None, new)["novelty"]
    assert_allclose(found, theirs.compute_novelty(new), rtol=1e-5)


MOST_NOVEL = brns.ArchiveKNN(k=2, entry="most_novel")  # which learns with their novelty alone


@pytest.mark.parametrize("estimator", [brns.ArchiveKNN(k=2), MOST_NOVEL, brns.VisitCounts(grids=8)])
def test_a_crowd_within_a_batch_is_less_novel(estimator):
    """Nothing was learned before, so that only the batch can tell."""
    archive = NoveltyArchive(estimator, SPACE, solution_dim=1)
    crowd = np.array([[1.0, 1.0], [1.1, 1.0], [1.0, 1.1], [9.0, 9.0]])
    novelty = archive.add(np.zeros((4, 1)), None, crowd)["novelty"]
    assert novelty[3] > 1.5 * novelty[:3].max()


def test_pyribs_schedulers_and_emitters_take_it():
    archive = NoveltyArchive(brns.VisitCounts(grids=8), SPACE, solution_dim=3)
    result = GridArchive(solution_dim=3, dims=(5, 5), ranges=[(0, 10), (0, 10)])
    strategy = {"x0": np.zeros(3), "sigma0": 1.0, "ranker": "nov", "batch_size": 6, "seed": 0}
    emitters = [
        EvolutionStrategyEmitter(archive, es="openai_es", restart_rule=2, **strategy),
        GaussianEmitter(archive, sigma=0.5, x0=np.zeros(3), batch_size=4, seed=0),
    ]
    scheduler = Scheduler(archive, emitters, result_archive=result)
    for _ in range(4):
        solutions = scheduler.ask()
        assert solutions.shape == (10, 3)
        scheduler.tell(solutions[:, 2], 5 + solutions[:, :2])
    assert archive.novelty.learned == 40
    assert emitters[0].restarts > 0  # from a solution that it was given
    assert result.stats.num_elites > 2


def test_solutions_are_drawn_from_the_last_batch_by_the_seed():
    draws = []
    for _ in range(2):
        archive = NoveltyArchive(brns.VisitCounts(grids=8), SPACE, solution_dim=1, seed=3)
        for solutions in ([[1.0]], [[2.0], [3.0]], np.zeros((0, 1))):
            archive.add(solutions, None, np.ones((len(solutions), 2)))
        draws.append(archive.sample_elites(30)["solution"])
    assert draws[0].shape == (30, 1)
    assert {*draws[0].ravel()} == {2, 3}
    assert_array_equal(*draws)
    assert archive.novelty.seed == 3


def test_a_batch_of_unequal_rows_is_refused_before_it_is_learned():
    """It would be drawn from later, row by row."""
    archive = NoveltyArchive(brns.VisitCounts(grids=8), SPACE, solution_dim=1)
    with pytest.raises(ValueError, match=r"a row each; got .*'objective': 2, 'measures': 3"):
        archive.add(np.zeros((3, 1)), np.zeros(2), np.ones((3, 2)))
    assert archive.empty
    assert archive.novelty.learned == 0


def test_ranges_of_pyribs_in_place_of_a_box_are_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as it is for users
    with pytest.raises(ValueError, match=r"space must be a brns\.Box\(low, high\); got \["):
        NoveltyArchive(brns.VisitCounts(), [(0, 10), (0, 10)], solution_dim=1)


@pytest.fixture(scope="module")
def record():
    return run_in_memory(HOST, 4, [0])[0]


def test_elites_and_their_score_by_hand(record):
    """Generation by generation, cell by cell; of equals the first born."""
    best, scores = {}, []
    for g in record.generations:
        offspring = record.arrays("generations", g)["offspring"]
        places = offspring["descriptor"]
        where = find_cell_coordinates(places, record.behavior_space, (4, 3)).tolist()
        ranks = zip(offspring["fitness"].tolist(), (-offspring["id"]).tolist(), strict=True)
        for cell, rank in zip(map(tuple, where), ranks, strict=True):
            best[cell] = max(best.get(cell, rank), rank)
        scores.append(sum(fitness + 1 for fitness, _ in best.values()))
    assert_allclose(qd_score(record, (4, 3), offset=-1.0), scores, rtol=1e-5)
    ours = elites(record, (4, 3))
    cells = find_cell_coordinates(ours.descriptor, record.behavior_space, (4, 3))
    where = [*map(tuple, cells.tolist())]
    assert where == sorted(best)
    ranks = zip(ours.fitness.tolist(), (-ours.id).tolist(), strict=True)
    assert [*ranks] == [best[cell] for cell in where]


def test_elites_as_a_frame(record):
    pytest.importorskip("pandas")
    found = elites(record, (4, 3))
    frame = brns.to_dataframe(found)
    assert {"descriptor_0", "descriptor_1"} <= set(frame.columns)
    assert_array_equal(frame["genotype_4"], found.genotype[:, 4])
    assert frame["fitness"].tolist() == found.fitness.tolist()
