"""Comparisons: facts against a record, statistics by hand, and the page."""

import dataclasses
import errno
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import small_tasks
from files import refusing
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import KDTree
from small_tasks import Counting, HostIdentity, altered
from stores import run_in_memory

import brns
from brns.comparison import measure, page
from brns.comparison.batches import append_batch_to_file, read_batches_of_seeds
from brns.comparison.measure import POINTS, MethodResult, find_generations_at_fractions, run_method
from brns.comparison.run import _make_jobs, _make_methods, _resolve_worlds
from brns.comparison.statistics import (
    Comparison,
    bootstrap_coverage_ratio_interval,
    compare_to_reference_by_world,
)
from brns.comparison.tessellation import UNCOUNTED
from brns.comparison.worlds import Cells, Tessellation, compute_arm_tip, make_world_of_task, world
from brns.metrics import cycling
from brns.metrics.recorded import read_valid_rows_by_generation
from brns.metrics.tessellation import make_tessellation
from brns.runs.files import RecordError, write_bytes
from brns.settings import edits
from brns.settings.edits import CHANGED_SETTINGS
from brns.settings.parts import LOOKS
from brns.tasks.arm import PlanarArm
from brns.tasks.chunked import Chunked

KEY = jax.random.key(0)
CELLS = Cells((0.0, 0.0), (600.0, 600.0), 6, 36, "all cells")
ARCHIVE = brns.ArchiveKNN(k=3, additions=2, capacity=64)
METHODS = {"near": brns.PopulationKNN(k=3), "archive": ARCHIVE}


class Identity(small_tasks.Identity):
    """The task, solved at one side: by a founder of the first seed, and never by the second."""

    def evaluate(self, genotypes, key):
        return super().evaluate(genotypes, key)._replace(solved=genotypes[:, 0] > 0.95)


def search(task=None):
    near = brns.PopulationKNN(k=3)
    return brns.NoveltySearch(task or Identity(), near, 8, 6, brns.PolynomialMutation())


def again(compared, methods=METHODS, **changed):
    """The comparison of the fixture, once more."""
    told = {"seeds": 2, "generations": 12, "out": compared.out, "cells": CELLS}
    return brns.compare(search(), methods, **told | changed)


@pytest.fixture(scope="module", autouse=True)
def keep_compiled():
    """What one method compiled the next need not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "clear_caches", lambda: None)
        yield


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """The pictures of one comparison, `compared`, are enough; it is made before."""
    monkeypatch.setattr("brns.pictures.style.save", lambda figure, path, **_: path.touch())


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "worlds"
    return brns.compare(search(), METHODS, seeds=2, generations=12, out=out, cells=CELLS)


@pytest.fixture
def facts(compared):
    return compared.results["Identity"]["near"]


@pytest.fixture(scope="module")
def records():
    """Runs of the same seeds, with every state."""
    return run_in_memory(search(), 12, [0, 1])


@pytest.fixture
def unmeasured(monkeypatch):
    """Whoever measures calls None."""
    monkeypatch.setattr("brns.comparison.run.run_method", None)


def test_the_facts_are_those_of_a_record_of_the_same_seeds(facts, records):
    for seed, record in enumerate(records):
        seen, covered = set(), []
        for points in read_valid_rows_by_generation(record, "descriptor"):
            seen |= {tuple(cell) for cell in np.clip(np.floor(points / 100), 0, 5).astype(int)}
            covered.append(len(seen))
        when = [1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9, 10, 10, 11, 11, 12]  # near 0.6 k
        expected = np.array(covered)[when]
        assert_array_equal(facts.covered[seed], expected)
        solved = [rows.any() for rows in read_valid_rows_by_generation(record, "solved")]
        first = solved.index(True) if any(solved) else np.nan
        assert_array_equal(facts.first_solved[seed], first)
    assert_array_equal(facts.first_solved, [0, np.nan])


def test_eta_and_kappa_are_those_of_the_definition(facts, records):
    lived = [records[1].population(g) for g in range(1, 13)]
    score = jax.jit(brns.PopulationKNN(k=3).score)
    q = np.full((12, 12), np.nan)  # stretches of one generation: row k is generation k + 1
    for i in range(12):
        for j in range(i, 12):
            q[i, j] = np.mean(score((), lived[i].descriptor, lived[j]))
    assert_allclose(facts.eta[1], cycling.compute_eta(q).mean(), rtol=1e-4)
    share = cycling.compute_kappa_share(q / np.diag(q)[:, None], 0.01).mean()
    assert_allclose(facts.kappa[1], share, atol=0.02)
    # 101 of 200 rises by less than 1 % of 200; 101.5 of 100 by more; what was 0 has no eta.
    q = np.array([[200.0, 100.0, 101.0, 100.0], [0, 100, 101.5, 100], [0, 0, 0, 5], [0, 0, 0, 5]])
    mean = np.mean([np.mean([0.5, 0.505, 0.5]), np.mean([1.015, 1.0])])
    assert_allclose(measure._compute_mean_eta_and_kappa_share(q), (mean, (1 / 2 + 1) / 3))


def test_a_second_call_goes_on_to_the_same_numbers(compared):
    """With NumPy's seeds, and where a method's file is gone."""
    path = compared.out / "methods" / "Identity" / "archive.json"
    path.unlink()
    second = again(compared, seeds=np.arange(2))
    assert path.exists()
    assert second.seeds == [0, 1]
    for method, one in compared.results["Identity"].items():
        other = second.results["Identity"][method]
        for column in ("covered", "first_solved", "eta", "kappa"):
            assert_array_equal(getattr(other, column), getattr(one, column))


def test_seeds_can_be_added_and_left_out(compared, tmp_path, monkeypatch):
    shutil.copytree(compared.out, tmp_path / "more")
    ran = []

    def run(search, world, seeds, peer):
        ran.append(seeds)
        return run_method(search, world, seeds, peer)

    monkeypatch.setattr("brns.comparison.run.run_method", run)
    monkeypatch.setattr("brns.comparison.run.collect_provenance", lambda: {"commit": "later"})
    more = again(compared, seeds=3, out=tmp_path / "more")
    assert ran == [[2], [2]]
    fewer = again(compared, seeds=[1], out=tmp_path / "more")
    assert ran == [[2], [2]]
    alone = again(compared, seeds=[2], out=tmp_path / "alone")
    for method, first in compared.results["Identity"].items():
        rows = more.results["Identity"][method]
        assert_array_equal(rows.covered[:2], first.covered)
        assert_array_equal(rows.covered[2:], alone.results["Identity"][method].covered)
        assert_array_equal(fewer.results["Identity"][method].eta, first.eta[1:])
    added = [f"{method} in Identity, 1 of 3 seeds" for method in METHODS]
    assert [each["rows"] for each in more.provenance] == [list(METHODS), added]
    most = again(compared, seeds=4, out=tmp_path / "more")
    assert most.provenance[1]["rows"] == [
        f"{method} in Identity, 2 of 4 seeds" for method in METHODS
    ]


def test_processes_that_add_seeds_at_once_lose_none(compared, tmp_path, monkeypatch):
    worlds = list(compared.worlds.values())
    methods = _make_methods({"near": METHODS["near"]}, {"": None})
    (job,) = _make_jobs(search(), worlds, methods, compared.out, False)
    (batch,) = read_batches_of_seeds(job)
    job = job._replace(path=tmp_path / "near.json")

    def write_slowly(path, content):
        time.sleep(0.05)
        write_bytes(path, content)

    monkeypatch.setattr("brns.comparison.batches.write_bytes", write_slowly)
    added = [batch._replace(seeds=[seed, seed + 1]) for seed in (0, 2, 4, 6)]
    with ThreadPoolExecutor(len(added)) as processes:
        list(processes.map(append_batch_to_file, [job] * len(added), added))
    seeds = np.concatenate([stored.seeds for stored in read_batches_of_seeds(job)])
    assert_array_equal(np.sort(seeds), np.arange(8))


def test_files_of_other_settings_are_refused(compared, unmeasured):
    for changed in ({"methods": {"near": brns.PopulationKNN(k=2)}}, {"generations": 13}):
        with pytest.raises(RecordError, match=r"near\.json was made with other settings"):
            again(compared, **changed)


@pytest.mark.slow
def test_results_of_code_that_was_edited_are_refused(tmp_path, monkeypatch):
    task = Counting()

    def compare(place=lambda individuals: individuals.descriptor, methods=("near",)):
        methods = {name: brns.PopulationKNN(k=2) for name in methods}
        cells = CELLS._replace(place=place)
        numbers = {"seeds": 1, "generations": 2, "cells": cells}
        return brns.compare(search(task), methods, out=tmp_path / "out", **numbers)

    compare()
    compare(methods=("near", "far"))  # evaluations changed counters
    for memory in (CHANGED_SETTINGS, edits.CHANGED_CODE, Counting.batches):
        memory.clear()
    task = Counting()  # as in another process
    compare(methods=("near", "far"))
    with pytest.raises(RecordError, match=r"by other code of yours(.|\n)*<lambda>"):
        compare(lambda individuals: individuals.descriptor / 2)
    monkeypatch.setattr(Counting, "gain", 2.0)
    with pytest.raises(RecordError, match=r"near\.json was made by other code(.|\n)*gain = 2"):
        compare()


def test_a_damaged_file_is_refused_by_name(compared, unmeasured):
    path = compared.out / "methods" / "Identity" / "archive.json"
    whole = path.read_text()
    path.write_text('[{"settings": 1, "facts": {"covered": "a"}}]')
    try:
        with pytest.raises(RecordError, match=r"archive\.json is damaged"):
            again(compared)
    finally:
        path.write_text(whole)


def test_a_bare_task_is_compared_with_the_default_operator_where_it_began(tmp_path, monkeypatch):
    """The task may go to another folder."""

    def run_elsewhere(*_):
        os.chdir("/")
        return fake([30])

    monkeypatch.setattr("brns.comparison.run.run_method", run_elsewhere)
    monkeypatch.chdir(tmp_path)
    compared = brns.compare(HostIdentity(), METHODS, seeds=1, out="compared")
    assert compared.out == tmp_path / "compared"
    assert (tmp_path / "compared.md").exists()
    assert "offspring by mixed mutation" in f"{compared}"


def test_what_is_not_finite_ends_a_comparison(tmp_path):
    endless = altered(lambda e, g, key: e._replace(fitness=jnp.inf), Identity)
    with pytest.raises(ValueError, match="the task gave a fitness that is not finite") as caught:
        brns.compare(search(endless), METHODS, seeds=1, generations=2, out=tmp_path)
    assert "This was near in Altered" in caught.value.__notes__


@pytest.mark.parametrize(
    ("what", "changed", "told"),
    [
        ([], {}, "at least one world; got none"),
        ("arm", {"cells": CELLS}, "Cells are for a task"),
        (Identity(), {"cells": (6, 6, 6)}, r"Cells or Tess.* got \(6, 6, 6\)"),
        (Identity(), {"estimators": [brns.PopulationKNN()]}, "estimators by name"),
        (brns.VisitCounts(), {}, r"a task, a search or worlds; got VisitCounts\("),
        ({"arm": Identity()}, {}, "a task, a search or worlds; got {'arm': "),
        (Identity(), {"mutations": brns.GaussianMutation()}, "mutations are operators by name"),
        ("arm", {"estimators": {1: brns.PopulationKNN()}}, r"estimators by name.* got \{1: "),
        ([make_world_of_task(Chunked(Identity()), 8, 2)] * 2, {}, r"/Identity/near\.json twice"),
        ([make_world_of_task(PlanarArm(n, "joints"), 8, 2) for n in (2, 3)], {}, "near.json twice"),
        ([Identity(), Identity()], {}, r"as brns\.comparison\.worlds\.make_world_of_task"),
        (["arm", "room"], {}, r"a world must be one of maze.* did you mean rooms\?"),
        ("arm", {"generations": 0}, "generations"),
        (world("arm")._replace(generations=1), {}, "generations of arm must be .* from 2 on"),
        (search(), {"cells": CELLS._replace(reachable=0)}, "reachable from 1 to side x side"),
        (search(), {"cells": CELLS._replace(high=CELLS.low)}, "low below high"),
    ],
)
def test_what_makes_no_comparison_is_refused(tmp_path, unchecked, what, changed, told):
    with pytest.raises(ValueError, match=told):
        brns.compare(what, **{"estimators": METHODS, "out": tmp_path / "out"} | changed)
    assert not list(tmp_path.iterdir())


def test_a_file_or_a_closed_folder_is_refused_before_anything_is_computed(
    tmp_path, unmeasured, monkeypatch
):
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match=r"cannot be made \(Not a directory\): choose another"):
        brns.compare("arm", METHODS, out=tmp_path / "file")
    monkeypatch.setattr("tempfile.TemporaryFile", refusing(errno.EACCES))
    with pytest.raises(RecordError, match="Permission denied"):
        brns.compare("arm", METHODS, out=tmp_path / "closed")


def test_a_page_is_named_after_its_folder_and_writes_over_no_other(tmp_path, compared):
    assert page.resolve_page_path(tmp_path / "runs-0.1") == tmp_path / "runs-0.1.md"
    (tmp_path / "notes.md").write_text("# My notes")
    with pytest.raises(ValueError, match=r"notes.md is not a page of ours"):
        brns.compare(search(), METHODS, out=tmp_path / "notes")
    assert page.resolve_page_path(compared.out) == compared.out.with_suffix(".md")


def test_it_leaves_a_tidy_frame_a_picture_and_a_page(compared):
    lines = (compared.out / "runs.csv").read_text().splitlines()
    assert lines[0] == "world,method,seed,measure,value"
    last = float(compared.results["Identity"]["archive"].covered[1, -1])
    assert f"Identity,archive,1,coverage_100,{last}" in lines
    assert not any(line.endswith("nan") for line in lines)  # first solutions that there are not
    assert (compared.out / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert b"/Type3" not in (compared.out / "comparison.pdf").read_bytes()
    text = compared.out.with_suffix(".md").read_text()
    assert "| 8 + 6 |" in text
    assert "pyribs" not in text.partition("Command: ")[0]
    assert f"{compared}" in text
    assert "2 seeds are too few to test; 6 are enough" in f"{compared}"  # 2 / 2^6 < 0.05
    (made,) = compared.provenance
    assert f"Commit {made['commit']}; " in text


def test_the_picture_has_evaluations_the_looks_and_the_width_that_is_asked_for(compared):
    """8 founders and 6 offspring a generation."""
    figure = page.draw_coverage_comparison(compared.worlds, compared.results, width="column")
    assert figure.get_figwidth() == 3.5
    _, archive = figure.axes[0].lines
    assert_array_equal(archive.get_xdata(), 8 + 6 * np.array(find_generations_at_fractions(12)))
    assert (archive.get_label(), archive.get_color()) == ("archive", LOOKS["archive"].color)


def test_too_few_seeds_are_told_before_anything_is_computed(tmp_path, monkeypatch, caplog):
    def computed(*_):
        raise InterruptedError

    monkeypatch.setattr("brns.comparison.run._run_missing_jobs", computed)
    methods = {f"{k}": brns.PopulationKNN(k=k) for k in range(1, 8)}
    with pytest.raises(InterruptedError):
        brns.compare(search(), methods, seeds=5, out=tmp_path)
    assert [one.message for one in caplog.records] == ["5 seeds are too few to test; 8 are enough"]


def fake(final):
    """Facts of seeds that cover so many cells at the end and ten before."""
    n = len(final)
    covered = np.full((n, len(POINTS)), 10.0)
    covered[:, -1] = final
    return MethodResult(covered, np.full(n, 5.0), np.zeros(n), np.zeros(n), np.ones(n))


def test_share_effect_and_test_by_hand():
    archive = [100, 102, 104, 106, 108, 110, 119]
    better = [110, 113, 116, 119, 122, 125, 128]  # by 10, 11 ... 15 and 9
    found = {"w": {"archive": fake(archive), "ours": fake(better), "same": fake(archive)}}
    told = compare_to_reference_by_world(found, "archive")
    rows = {(row.method, row.fraction): row for row in told}
    ours, same = rows["ours", 1.0], rows["same", 1.0]
    assert ours.share == pytest.approx(833 / 749)
    assert rows["ours", 0.5].share == 1
    assert ours.effect == 1.0
    # Two of 128 ways to sign seven differences, the smaller p of two.
    assert ours.p == pytest.approx(2 * 2 / 2**7)
    assert ours.outcome == "better"
    assert (same.share, same.effect, same.p, same.outcome) == (1, 0.5, 1, "undecided")
    six = {"archive": fake(archive[:6]), "ours": fake(better[:6]), "same": fake(archive[:6])}
    fewer = {"w": six}
    assert compare_to_reference_by_world(fewer, "archive")[-1].outcome == "not tested (n = 6)"
    six.pop("same")
    assert compare_to_reference_by_world(fewer, "archive")[-1].outcome == "better"


def test_an_interval_by_hand():
    """Every seed has the same share: over seeds nothing varies,
    over worlds it lies between both."""
    low, high = np.array([10.0, 20.0]), np.array([30.0, 60.0])
    pairs = [(low, low), (high, low), (low, low)]
    assert bootstrap_coverage_ratio_interval(pairs) == pytest.approx((5 / 3, 5 / 3))
    assert bootstrap_coverage_ratio_interval(pairs, resample_worlds=True) == pytest.approx((1, 3))
    # Some seeds cover 1 of 1, the others 0 of 3. Of one among 3, 1 / 27 of the draws have no other;
    # of two among 5, 0.01 have none, and 0.09 one at most: 4 of 4 + 3.
    for number, n, highest in ((1, 3, 1), (2, 5, 4 / 7)):
        ours = (np.arange(n) < number).astype(float)
        found = bootstrap_coverage_ratio_interval([(ours, 3 - 2 * ours)])
        assert found == pytest.approx((0, highest))


def tabled(shares, seeds=10):
    """A comparison of a method that covers so much of what the archive covers in each world."""
    base = np.arange(100, 100 + seeds)
    found = {
        name: {"archive": fake(base), "ours": fake(share * base)} for name, share in shares.items()
    }
    worlds, words = {name: world(name) for name in found}, "offspring by mixed mutation"
    verdicts = compare_to_reference_by_world(found, "archive")
    return Comparison(worlds, found, list(range(seeds)), "archive", Path(), words, [], verdicts)


def test_the_table_counts_a_world_once():
    found = tabled({"arm": 1.1, "arm-loose": 1.5, "car": 1.3, "rooms-2": 1.0})
    head, archive, every = found.table_versus_reference
    assert head[1:3] == ["coverage, evaluated", "of archive's (95 %)"]
    covered = np.mean([104.5 / reachable for reachable in (533, 400, 400)])
    assert archive == ["archive", f"{covered:.1%}", "", "", ""]
    assert every[2:] == ["1.13 (1.13 to 1.13)", "1.00 to 1.30", "2 / 0 / 1"]
    untouched = found.make_table_versus_reference(found.untuned_worlds)[-1]
    assert untouched[2::2] == ["1.15 (1.15 to 1.15)", "1 / 0 / 1"]
    assert "Of these, the 2 worlds not used for tuning:" in f"{found}"
    assert "in 4 worlds (3 distinct) over 10 seeds; offspring by mixed mutation." in f"{found}"
    repeats = tabled({"arm-loose": 1.1, "arm-looser": 1.1, "car": 1.1})
    assert repeats.worlds_without_repeats == ["arm-loose", "car"]


def test_one_world_has_no_interval_over_worlds_and_few_seeds_no_test():
    found = tabled({"arm": 1.1}, seeds=5)
    last = ["ours", "21.1%", "1.10 (1.10 to 1.10)", "not tested (n = 5)"]
    assert found.table_versus_reference[-1] == last
    assert "5 seeds are too few to test; 6 are enough." in f"{found}"
    one = tabled({"arm": 1.1}, seeds=1)
    assert one.table_versus_reference[-1][2] == "1.10"
    assert "1 seed is too few to test; 6 are enough." in f"{one}"
    assert "in 1 world of one seed;" in f"{one}"
    two = tabled({"arm": 1.1, "car": 1.1}, seeds=5)
    assert two.table_versus_reference[-1][-1] == "not tested (n = 5)"
    assert "too few" not in f"{tabled({'arm': 1.1}, seeds=6)}"


def test_cells_are_where_the_tip_is_whatever_the_descriptor():
    genotypes = jax.random.uniform(jax.random.key(0), (20, 7))
    arms = (PlanarArm(7, kind) for kind in ("picture", "tip"))
    picture, plain = (eqx.filter_jit(arm.evaluate)(genotypes, KEY) for arm in arms)
    anyone = brns.core.Population.from_descriptors(plain.descriptor)
    drawn = anyone._replace(genotype=genotypes, descriptor=picture.descriptor)
    assert_allclose(compute_arm_tip(drawn), plain.descriptor)
    there = anyone._replace(genotype=genotypes, descriptor=plain.descriptor)
    reached = world("arm").cells.find_visited_cells(there)
    assert_array_equal(world("arm-picture").cells.find_visited_cells(drawn), reached)


def test_the_arms_reachable_cells_are_those_that_its_disc_meets():
    reach = world("arm").cells
    corners = (np.abs((np.arange(reach.side) + 0.5) / reach.side - 0.5) - 0.5 / reach.side).clip(0)
    assert (np.hypot(corners[:, None], corners[None]) < 0.5).sum() == reach.reachable


def test_cells_lie_in_a_plane(unchecked):
    behaviors = brns.Population.from_descriptors(jnp.zeros((5, 1)))
    with pytest.raises(ValueError, match=r"place must give \(n, 2\), x and y; got \(5, 1\)"):
        CELLS.find_visited_cells(behaviors)
    on_host = CELLS._replace(place=lambda people: np.asarray(people.descriptor))
    with pytest.raises(ValueError, match="place must be JAX code that compiles"):
        jax.jit(on_host.find_visited_cells)(behaviors)


def test_nobody_lies_in_a_cell_whose_place_is_not_finite():
    behaviors = brns.Population.from_descriptors(jnp.zeros((2, 2)))
    half = CELLS._replace(place=lambda people: people.descriptor.at[0, 1].set(jnp.nan))
    assert half.find_visited_cells(behaviors).sum() == 1
    nowhere = CELLS._replace(place=lambda people: people.descriptor * jnp.nan)
    assert not nowhere.find_visited_cells(behaviors).any()
    people = brns.Population.from_descriptors([[1.0, 1.0], [0.0, 0.0], [np.nan, 0.0]])
    people = people._replace(failed=jnp.array([False, True, False]))
    cells = Tessellation(np.ones(2), np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert cells.find_visited_cells(people).tolist() == [False, True]


LOW, WIDTH = np.array([0, 3e5, 0], np.float32), np.array([600, 600, 6], np.float32)


class Solid(small_tasks.Identity):
    """Three genes as a behavior, in another unit or far from 0; some individuals fail."""

    behavior_space: brns.Box = brns.Box(LOW, LOW + WIDTH)

    def evaluate(self, genotypes, key):
        descriptor = LOW + WIDTH * (genotypes[:, :3] + 1) / 2
        return brns.Evaluation(descriptor, failed=genotypes[:, 4] > 0.9)


def read_behaviors(estimator, seed):
    """All that a run of a method evaluates in Solid, in widths of the box."""
    (record,) = run_in_memory(dataclasses.replace(search(Solid()), estimator=estimator), 12, [seed])
    return np.concatenate([*read_valid_rows_by_generation(record, "descriptor")]) / WIDTH


@pytest.fixture(scope="module")
def solid(tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "solid"
    return brns.compare(search(Solid()), METHODS, seeds=2, generations=12, out=out)


def test_cells_are_nearest_to_centres_among_what_all_methods_evaluate(solid):
    pool = [read_behaviors(estimator, UNCOUNTED) for estimator in METHODS.values()]
    centres = make_tessellation(np.concatenate(pool)).astype(np.float32)
    assert_array_equal(solid.worlds["Solid"].cells.centres, centres)
    assert solid.worlds["Solid"].cells.reachable == len(centres)
    for method, estimator in METHODS.items():
        for seed, covered in enumerate(solid.results["Solid"][method].get_covered_at(1.0)):
            nearest = KDTree(centres).query(read_behaviors(estimator, seed))[1]
            assert covered == len(np.unique(nearest))
    assert "of what near; archive evaluate" in solid.out.with_name("solid.md").read_text()


def test_later_seeds_and_methods_have_the_same_cells(solid):
    methods = {"near": METHODS["near"], "two": brns.PopulationKNN(k=2)}
    more = brns.compare(search(Solid()), methods, seeds=3, generations=12, out=solid.out)
    assert_array_equal(more.worlds["Solid"].cells.centres, solid.worlds["Solid"].cells.centres)
    near = more.results["Solid"]["near"].covered
    assert_array_equal(near[:2], solid.results["Solid"]["near"].covered)


def test_only_worlds_without_cells_get_some_and_those_of_a_stopped_call_are_told(
    solid, tmp_path, caplog
):
    def make_job(where):
        methods = _make_methods({"near": METHODS["near"]}, {"": None})
        return _make_jobs(search(Solid()), [where], methods, tmp_path, False)[0]

    with_cells = solid.worlds["Solid"]
    assert make_job(with_cells).world.cells is with_cells.cells
    folder = tmp_path / "methods" / "Solid"
    folder.mkdir(parents=True)
    shutil.copy(solid.out / "methods" / "Solid" / "cells.npz", folder)
    there = make_job(make_world_of_task(Solid(), 8, 12)._replace(offspring=6)).world.cells
    assert_array_equal(there.centres, with_cells.cells.centres)
    assert f"remove {folder / 'cells.npz'}" in caplog.text
    assert "only" in caplog.text.partition("Solid has ")[2]


def test_a_tessellation_takes_the_place_of_the_cells_that_worlds_have(solid):
    arm, car = _resolve_worlds(["arm", "car"], 3, Tessellation())
    assert (arm.name, car.name, car.generations) == ("arm", "car", 3)
    assert arm.cells.reachable == car.cells.reachable == 0
    (placed,) = _resolve_worlds(search(Solid()), 12, solid.worlds["Solid"].cells)
    assert placed.cells.reachable == solid.worlds["Solid"].cells.reachable > 0


def test_a_method_that_fails_while_cells_are_placed_is_named(tmp_path):
    with pytest.raises(ValueError, match="population above 9; got 8") as refused:
        brns.compare(search(Solid()), {"far": brns.PopulationKNN(k=9)}, seeds=1, out=tmp_path)
    assert "This was far in Solid" in refused.value.__notes__


def test_what_placing_cells_computes_once_is_no_edit(tmp_path):
    cache = {}

    def evaluate(evaluation, genotypes, key):
        cache.setdefault("table", np.ones((2, 3), np.float32))
        return brns.Evaluation(evaluation.descriptor @ cache["table"])

    lazy = altered(evaluate, behavior_space=brns.Box([0.0] * 3, [1200.0] * 3))
    for seeds in (1, 2):
        cache.clear()
        edits.CHANGED_CODE.clear()  # as in another process
        near = {"near": METHODS["near"]}
        brns.compare(search(lazy), near, seeds=seeds, generations=2, out=tmp_path / "lazy")


def test_cells_of_another_task_are_refused(solid):
    class Solid(Identity):
        behavior_space: brns.Box = brns.Box([0.0], [600.0])

        def evaluate(self, genotypes, key):
            return brns.Evaluation(300 + 300 * genotypes[:, :1])

    with pytest.raises(RecordError, match=r"12 generations of 8 \+ 6 with 3 dim.*remove .*Solid"):
        brns.compare(search(Solid()), METHODS, seeds=2, out=solid.out)
