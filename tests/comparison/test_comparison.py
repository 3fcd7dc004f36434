"""Comparisons: facts against a record, statistics by hand, and the page."""

import time
from concurrent.futures import CancelledError
from threading import Event

import equinox as eqx
import jax
import jaxtyping
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from worlds import HostIdentity, Identity

from brns import NoveltySearch, PopulationKNN, Record, VisitCounts, compare, run
from brns.comparison import page
from brns.comparison.measure import POINTS, Facts, measured, moments
from brns.comparison.statistics import Comparison, interval, judged
from brns.comparison.worlds import SUITE, Cells, of_task, tip, world
from brns.metrics import cycling
from brns.metrics.recorded import evaluated
from brns.pictures.records import LOOKS
from brns.runs.storage import RecordError
from brns.tasks.arm import PlanarArm

KEY = jax.random.key(0)
CELLS = Cells((0.0, 0.0), (600.0, 600.0), 6, 36, "all cells")
METHODS = {"near": PopulationKNN(k=3), "counts": VisitCounts(grids=8)}


def search(task=None):
    return NoveltySearch(
        task or Identity(), PopulationKNN(k=3), population_size=8, offspring_size=6
    )


def again(compared, **changed):
    """The comparison of the fixture, once more."""
    told = {
        "seeds": 2,
        "generations": 12,
        "out": compared.out,
        "cells": CELLS,
        "workers": 1,
        "progress": False,
    }
    return compare(search(), changed.pop("methods", METHODS), **told | changed)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "worlds"
    return compare(search(), METHODS, seeds=2, generations=12, out=out, cells=CELLS, workers=1)


@pytest.fixture
def facts(compared):
    return compared.found["Identity"]["near"]


@pytest.fixture
def unmeasured(monkeypatch):
    """Whoever measures calls None."""
    monkeypatch.setattr("brns.comparison.run.measured", None)


def test_the_facts_are_those_of_a_record_of_the_same_seeds(facts, tmp_path):
    run(search(), 12, out=tmp_path / "runs", seeds=range(2))
    for seed in range(2):
        record = Record(tmp_path / "runs" / f"seed{seed:04d}")
        seen, covered = set(), []
        for points in evaluated(record, "descriptor"):
            seen |= {tuple(cell) for cell in np.clip(np.floor(points / 100), 0, 5).astype(int)}
            covered.append(len(seen))
        assert_array_equal(facts.covered[seed], np.array(covered)[moments(12)])
        solved = [g for g, rows in enumerate(evaluated(record, "solved")) if rows.any()]
        assert_array_equal(facts.first_solved[seed], solved[0] if solved else np.nan)


def test_eta_and_kappa_are_those_of_the_definition(facts):
    key = jax.random.key(1)
    states = [search().init(key)]
    for _ in range(12):
        states.append(search().step(states[-1], key)[0])
    q = np.full((12, 12), np.nan)  # stretches of one generation: row k is generation k + 1
    for i in range(12):
        for j in range(i, 12):
            novelty = PopulationKNN(k=3).score(
                (), states[i + 1].population.descriptor, states[j + 1].population
            )
            q[i, j] = np.mean(novelty)
    assert_allclose(facts.eta[1], cycling.eta(q).mean(), rtol=1e-4)
    share = cycling.kappa_share(q / np.diag(q)[:, None], 0.01).mean()
    assert_allclose(facts.kappa[1], share, atol=0.02)


def test_a_second_call_computes_nothing_and_gives_the_same_numbers(compared, unmeasured):
    """Seeds may be NumPy's."""
    second = again(compared, seeds=np.arange(2))
    assert second.seeds == [0, 1]
    for method, one in compared.found["Identity"].items():
        for column, value in one._asdict().items():
            assert_array_equal(getattr(second.found["Identity"][method], column), value)


def test_what_was_stopped_goes_on_to_the_same_numbers(compared):
    path = compared.out / "methods" / "Identity" / "counts.json"
    path.unlink()
    before = compared.found["Identity"]["counts"]
    after = again(compared).found["Identity"]["counts"]
    assert_array_equal(after.covered, before.covered)
    assert_array_equal(after.eta, before.eta)
    assert path.exists()


@pytest.mark.parametrize(
    "changed", [{"methods": {"near": PopulationKNN(k=2)}}, {"generations": 13}, {"cells": None}]
)
def test_files_of_other_settings_are_refused(compared, unmeasured, changed):
    with pytest.raises(RecordError, match=r"near\.json was made with other settings"):
        again(compared, **changed)


def test_a_damaged_file_is_refused_by_name(compared, unmeasured):
    path = compared.out / "methods" / "Identity" / "counts.json"
    whole = path.read_text()
    path.write_text('{"settings": 1, "made": 1, "facts": {"covered": "a"}}')
    try:
        with pytest.raises(RecordError, match=r"counts\.json is damaged"):
            again(compared)
    finally:
        path.write_text(whole)


def test_a_host_task_is_called_by_one_method_at_a_time(tmp_path, monkeypatch):
    """A world with one simulator, which two must not use at a time."""
    evaluate, inside = HostIdentity.evaluate, []

    def busy(self, genotypes, key):
        assert not inside, "two at a time"
        inside.append(True)
        time.sleep(0.01)
        inside.pop()
        return evaluate(self, genotypes, key)

    monkeypatch.setattr(HostIdentity, "evaluate", busy)
    methods = dict.fromkeys(("one", "another"), PopulationKNN(k=3))
    compare(search(HostIdentity()), methods, seeds=1, generations=3, out=tmp_path, workers=2)


def test_what_makes_no_comparison_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users have it
    with pytest.raises(ValueError, match="cells are for a task"):
        compare("arm", METHODS, out=tmp_path, cells=CELLS)
    with pytest.raises(ValueError, match=r"worlds\.Cells; got \(6, 6, 6\)"):
        compare(Identity(), METHODS, out=tmp_path, cells=(6, 6, 6))
    with pytest.raises(ValueError, match="estimators by name"):
        compare(Identity(), list(METHODS.values()), out=tmp_path)
    both = [of_task(task, 8, 2) for task in (Identity(), Identity())]
    with pytest.raises(ValueError, match=r"Identity/near\.json.* twice"):
        compare(both, METHODS, out=tmp_path)
    with pytest.raises(ValueError, match=r"a world is one of maze.* did you mean rooms\?"):
        compare(["arm", "room"], METHODS, out=tmp_path)
    with pytest.raises(ValueError, match="generations"):
        compare("arm", METHODS, generations=0, out=tmp_path)
    with pytest.raises(ValueError, match="behaviors have 40 dimensions"):
        of_task(PlanarArm(20, "joints"), 10, 10)
    assert not list(tmp_path.iterdir())


def test_a_page_is_named_after_its_folder_and_writes_over_no_other(tmp_path, compared):
    assert page.place(tmp_path / "runs-0.1") == tmp_path / "runs-0.1.md"
    (tmp_path / "notes.md").write_text("# My notes")
    with pytest.raises(ValueError, match=r"notes.md is not a page of ours"):
        compare(search(), METHODS, out=tmp_path / "notes")
    assert page.place(compared.out) == compared.out.with_suffix(".md")


def test_it_leaves_a_tidy_frame_a_picture_and_a_page(compared):
    lines = (compared.out / "runs.csv").read_text().splitlines()
    assert lines[0] == "world,method,seed,measure,value"
    last = float(compared.found["Identity"]["counts"].covered[1, -1])
    assert f"Identity,counts,1,coverage_100,{last}" in lines
    assert (compared.out / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert b"/Type3" not in (compared.out / "comparison.pdf").read_bytes()
    print_size = page.picture(compared.worlds, compared.found, width="column")
    assert print_size.get_figwidth() == 3.5
    counts = next(line for line in print_size.axes[0].lines if line.get_label() == "counts")
    assert counts.get_color() == LOOKS["counts"].color


def test_after_ctrl_c_the_call_ends_at_once(tmp_path, monkeypatch):
    """What is being computed is not waited for."""

    def slow(search, world, seeds, stop, peer):
        raise CancelledError if stop.wait(60) else AssertionError

    def interrupted(things, title, total, shown):
        raise KeyboardInterrupt
        yield from things

    monkeypatch.setattr("brns.comparison.run.measured", slow)
    monkeypatch.setattr("brns.comparison.run.track", interrupted)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compare(search(), METHODS, seeds=1, generations=3, out=tmp_path)
    assert time.monotonic() - began < 20


def test_a_measurement_that_is_asked_to_stop_stops():
    stop = Event()
    stop.set()
    with pytest.raises(CancelledError):
        measured(search(), of_task(Identity(), 8, 12, CELLS), [0, 1], stop)


def fake(final):
    """Facts of seeds that cover so many cells at the end and half of them before."""
    covered = np.repeat(np.asarray(final, float)[:, None] // 2, len(POINTS), axis=1)
    covered[:, -1] = final
    n = len(final)
    return Facts(covered, np.full(n, 5.0), np.zeros(n), np.zeros(n), 1.0)


def test_share_effect_and_test_by_hand():
    archive = [100, 102, 104, 106, 108, 110]
    better = [110, 113, 116, 119, 122, 125]  # by 10, 11 ... 15
    found = {"w": {"archive": fake(archive), "ours": fake(better), "same": fake(archive)}}
    rows = {(row.method, row.fraction): row for row in judged(found, "archive")}
    ours, same = rows["ours", 1.0], rows["same", 1.0]
    assert ours.share == pytest.approx(705 / 630)
    assert ours.effect == 1.0
    assert ours.p == pytest.approx(
        2 * 2 / 2**6
    )  # two of 64 ways to sign six differences, the smaller p of two
    assert ours.outcome == "undecided"
    assert (same.share, same.effect, same.p, same.outcome) == (1, 0.5, 1, "undecided")
    alone = judged({"w": {"archive": fake(archive), "ours": fake(better)}}, "archive")
    assert alone[-1].outcome == "better"


def test_an_interval_by_hand():
    """Every seed has the same share: over seeds nothing varies, over worlds it lies between both."""
    pairs = [
        (np.array([10.0, 20.0]), np.array([10.0, 20.0])),
        (np.array([30.0, 60.0]), np.array([10.0, 20.0])),
    ]
    assert interval(pairs) == pytest.approx((2, 2))
    assert interval(pairs, of_worlds=True) == pytest.approx((1, 3))
    # Of 2 seeds, that cover 1 and 3 of 1, a quarter of the draws has mean 1 and a quarter 3.
    assert interval([(np.array([1.0, 3.0]), np.ones(2))]) == pytest.approx((1, 3))


def test_the_table_counts_a_world_once(tmp_path):
    base = np.arange(100, 110)
    shares = {"arm": 1.1, "arm-loose": 1.3, "car": 1.2, "rooms-2": 1.0}
    found = {
        name: {"archive": fake(base), "ours": fake(share * base)} for name, share in shares.items()
    }
    worlds = {name: world(name) for name in found}
    rows = judged(found, "archive")
    _, every, untouched = Comparison(
        worlds, found, list(range(10)), "archive", tmp_path, [], rows
    ).summary
    assert every[:2] == ["ours", "1.10 (1.10 to 1.10)"]
    assert every[3:] == ["2", "0", "1", "all"]
    assert untouched[1] == "1.10 (1.10 to 1.10)"
    assert untouched[3:] == ["1", "0", "1", "by which no setting was chosen"]


def test_cells_are_where_the_tip_is_whatever_the_descriptor():
    genotypes = jax.random.uniform(jax.random.key(0), (20, 7))
    picture, plain = (
        eqx.filter_jit(PlanarArm(7, kind).evaluate)(genotypes, KEY) for kind in ("picture", "tip")
    )
    anyone = search().init(jax.random.key(0)).population
    drawn = anyone._replace(genotype=genotypes, descriptor=picture.descriptor)
    assert_allclose(tip(drawn), plain.descriptor)
    reached = world("arm").cells.visited(
        anyone._replace(genotype=genotypes, descriptor=plain.descriptor)
    )
    assert_array_equal(world("arm-picture").cells.visited(drawn), reached)


def test_the_suites_worlds_and_their_names():
    assert len([each for each in SUITE if not each.again]) == 13
    assert {world(name).cells.reachable for name in ("ant", "rooms")} == {
        400
    }  # `brns run` has them


def test_the_arms_reachable_cells_are_those_that_its_disc_meets():
    reach = world("arm").cells
    tips = np.random.default_rng(0).normal(size=(200_000, 2))
    tips *= (0.5 * np.sqrt(np.random.default_rng(1).random((200_000, 1)))) / np.linalg.norm(
        tips, axis=1, keepdims=True
    )
    met = {tuple(cell) for cell in np.floor((tips + 0.5) * reach.side).astype(int)}
    corners = (np.abs((np.arange(reach.side) + 0.5) / reach.side - 0.5) - 0.5 / reach.side).clip(0)
    assert (
        len(met) <= int((np.hypot(corners[:, None], corners[None]) < 0.5).sum()) == reach.reachable
    )
    assert reach.reachable - len(met) < 15  # corners of cells that few random tips find
