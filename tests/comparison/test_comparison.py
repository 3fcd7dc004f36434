"""Comparisons: facts by hand and against a record, statistics against SciPy, and going on."""

import time
from pathlib import Path
from threading import Event

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import mannwhitneyu
from worlds import HostIdentity, Identity

from brns import Comparison, GridCounts, NoveltySearch, PopulationKNN, Record, compare, run
from brns.comparison import bars, page, statistics
from brns.comparison.estimate import hours
from brns.comparison.measure import Facts, Stopped, measured
from brns.comparison.picture import picture
from brns.comparison.worlds import SUITE, Cells, of_task, tip, world
from brns.metrics.recorded import evaluated
from brns.runs.storage import RecordError
from brns.tasks.arm import PlanarArm
from brns.tasks.cpu import cores

CELLS = Cells((0.0, 0.0), (600.0, 600.0), 6, 36, "all cells")
METHODS = {"coarse": GridCounts(cells=2), "counts": GridCounts()}


def search(task=None):
    return NoveltySearch(task or HostIdentity(), PopulationKNN(k=3), population_size=8, offspring_size=6)


@pytest.fixture(scope="module")
def facts():
    return measured(search(), CELLS, 12, [0, 1])


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "worlds"
    return compare(search(Identity()), METHODS, seeds=2, generations=12, out=out, workers=1)


def test_the_facts_are_those_of_a_record_of_the_same_seeds(facts, tmp_path):
    run(search(), 12, out=tmp_path / "runs", seeds=range(2))
    for seed in range(2):
        record = Record(tmp_path / "runs" / f"seed{seed:04d}")
        seen, covered, first = set(), [], -1
        solved = evaluated(record, "solved")
        for generation, points in enumerate(evaluated(record, "descriptor")):
            seen |= {tuple(cell) for cell in np.clip(np.floor(points / 100), 0, 5).astype(int)}
            covered.append(len(seen))
            if first < 0 and solved[generation].any():
                first = generation
        assert_array_equal(facts.covered[seed], covered)
        assert facts.first_solved[seed] == first


def test_q_is_the_mean_novelty_of_then_by_the_population_of_now(facts):
    key = jax.random.key(1)
    states = [search().init(key)]
    for _ in range(12):
        states.append(search().step(states[-1], key)[0])
    for i, j in [(1, 1), (1, 4), (3, 10), (12, 12)]:  # stretches of one generation: row k is generation k + 1
        novelty = PopulationKNN(k=3).score((), states[i].population.descriptor, states[j].population)
        assert_allclose(facts.q[1, i - 1, j - 1], np.mean(novelty), rtol=1e-4)
    assert np.isnan(facts.q[:, 3, 2]).all()


@pytest.mark.slow
def test_a_host_task_gives_the_facts_of_the_same_world_in_jax():
    ours, theirs = measured(search(), CELLS, 3, [0, 1]), measured(search(Identity()), CELLS, 3, [0, 1])
    assert_array_equal(ours.covered, theirs.covered)
    assert_array_equal(ours.first_solved, theirs.first_solved)
    assert_allclose(ours.q, theirs.q, rtol=1e-4)


def test_a_second_call_computes_nothing_and_gives_the_same_bits(compared, monkeypatch):
    monkeypatch.setattr("brns.comparison.run.measured", None)  # whoever measured again would call it
    again = compare(search(Identity()), METHODS, seeds=2, generations=12, out=compared.out, workers=1)
    for method, one in compared.found["Identity"].items():
        for column, value in one._asdict().items():
            assert_array_equal(getattr(again.found["Identity"][method], column), value)


def test_what_was_stopped_goes_on_to_the_same_bits(compared):
    path = compared.out / "runs" / "Identity" / "counts.npz"
    path.unlink()
    again = compare(search(Identity()), METHODS, seeds=2, generations=12, out=compared.out, workers=2)
    before, after = compared.found["Identity"]["counts"], again.found["Identity"]["counts"]
    assert_array_equal(after.covered, before.covered)
    assert_array_equal(after.q, before.q)
    assert path.exists()


def test_files_of_other_settings_are_refused(compared):
    with pytest.raises(RecordError, match="other settings, seeds, generations or cells"):
        compare(
            search(Identity()), {"coarse": GridCounts(cells=3)}, seeds=2, generations=12, out=compared.out, workers=1
        )


def test_other_generations_are_no_damage(compared):
    with pytest.raises(RecordError, match="made with other settings, seeds, generations or cells; take another folder"):
        compare(search(Identity()), METHODS, seeds=2, generations=13, out=compared.out, workers=1)


class Busy(HostIdentity):
    """A world with one simulator, which two must not use at a time."""

    def evaluate(self, genotypes, key):
        assert not inside, "two at a time"
        inside.append(True)
        time.sleep(0.01)
        inside.pop()
        return super().evaluate(genotypes, key)


inside = []


def test_a_host_task_is_called_by_one_method_at_a_time(tmp_path):
    compare(search(Busy()), METHODS, seeds=1, generations=3, out=tmp_path, workers=2)


def test_cells_of_another_grid_are_not_taken_for_those_asked_for(compared, tmp_path):
    told = {"seeds": 2, "generations": 12, "out": compared.out, "workers": 1}
    with pytest.raises(RecordError, match="seeds, generations or cells; take another folder"):
        compare(search(Identity()), METHODS, cells=CELLS, **told)
    with pytest.raises(ValueError, match="cells are for a task or search of your own; a world has its own"):
        compare("arm", METHODS, out=tmp_path / "two", cells=CELLS)


def test_worlds_or_methods_of_one_name_are_refused(tmp_path):
    both = [of_task(task, 8, 2) for task in (Identity(), Identity())]
    with pytest.raises(ValueError, match=r"worlds of one name: .*; got Identity more than once"):
        compare(both, METHODS, out=tmp_path)
    with pytest.raises(ValueError, match=r"methods whose names make one file: .*a-b.npz more than once"):
        compare(Identity(), {"a+b": GridCounts(), "a-b": GridCounts(cells=2)}, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_page_is_named_after_its_folder_and_writes_over_no_other(tmp_path, monkeypatch, compared):
    assert page.place(tmp_path / "runs-0.1") == tmp_path / "runs-0.1.md"
    monkeypatch.chdir(tmp_path)
    assert page.place(Path()) == tmp_path.with_name(f"{tmp_path.name}.md")
    (tmp_path / "notes.md").write_text("# My notes")
    with pytest.raises(ValueError, match=r"notes.md is not a page of ours, .*: take another folder"):
        page.write(compared._replace(out=tmp_path / "notes"))
    assert (tmp_path / "notes.md").read_text() == "# My notes"


def test_of_a_search_of_ones_own_evaluations_are_counted_as_it_makes_them(compared):
    """8 founders and 6 offspring a generation."""
    assert compared.worlds["Identity"].born == 6
    figure = picture(compared.worlds, compared.found)
    assert_array_equal(figure.axes[0].lines[0].get_xdata(), 8 + 6 * np.arange(13))
    assert "| 8 + 6 |" in page.text(compared, "compared")


def test_seeds_may_be_numpys(compared, monkeypatch):
    monkeypatch.setattr("brns.comparison.run.measured", None)
    again = compare(search(Identity()), METHODS, seeds=np.arange(2), generations=12, out=compared.out, workers=1)
    assert again.seeds == [0, 1]


def test_it_leaves_a_tidy_frame_a_picture_and_a_page(compared):
    lines = (compared.out / "runs.csv").read_text().splitlines()
    assert lines[0] == "world,method,seed,measure,value"
    last = float(compared.found["Identity"]["counts"].covered[1, -1])
    assert f"Identity,counts,1,coverage_100,{last}" in lines
    assert (compared.out / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    written = page.write(compared)
    assert written == compared.out.with_suffix(".md")
    assert compared.verdicts[0] in written.read_text()
    assert "counts covers" in compared.verdicts[0]


def test_worlds_may_be_named_and_what_is_none_is_refused(tmp_path):
    for what in ("moon", ["arm", "moon"]):
        with pytest.raises(ValueError, match="a world is one of maze"):
            compare(what, METHODS, out=tmp_path)
    with pytest.raises(ValueError, match="generations must be a whole number from 2 on; got 0"):
        compare("arm", METHODS, generations=0, out=tmp_path)


def test_a_measurement_that_is_asked_to_stop_stops():
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        measured(search(Identity()), CELLS, 3, [0], stop)


def test_a_comparison_is_shown_by_its_verdicts(compared):
    assert repr(compared).splitlines() == [
        f"Comparison of 1 worlds over 2 seeds, in {compared.out}",
        *compared.verdicts,
    ]


def test_behaviors_that_are_not_planar_need_to_say_where_they_lie():
    with pytest.raises(ValueError, match="behaviors have 40 dimensions"):
        of_task(PlanarArm(20, "joints"), 10, 10)


def fake(final, first=5, q=((1.0, 0.5), (np.nan, 1.0))):
    """Facts of a run in which seed s covers final[s] cells at the end and half of them from the start on."""
    covered = np.repeat(np.asarray(final)[:, None] // 2, 11, axis=1)
    covered[:, -1] = final
    n = len(final)
    return Facts(covered, np.full(n, first), np.repeat(np.array(q)[None], n, axis=0), 1.0)


def test_holms_correction_by_hand():
    assert_allclose(statistics.holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])
    assert_allclose(statistics.holm([0.9, 0.8]), [1, 1])


def test_share_effect_and_test_by_hand_and_by_scipy():
    archive, better = [100, 102, 104, 106, 108], [110, 112, 114, 116, 118]
    found = {"w": {"archive": fake(archive), "ours": fake(better), "same": fake(archive)}}
    rows = {(row.method, row.fraction): row for row in statistics.judged(found, "archive")}
    ours, same = rows["ours", 1.0], rows["same", 1.0]
    assert ours.share == pytest.approx(114 / 104)
    assert ours.effect == 1.0  # each of ours covers more than each of theirs
    assert ours.p == pytest.approx(2 * mannwhitneyu(better, archive).pvalue)  # the smaller of two
    assert ours.confirmed == "more"
    assert (same.share, same.effect, same.p, same.confirmed) == (1, 0.5, 1, "neither")
    text = statistics.verdict(list(rows.values()), "ours", "archive")
    assert text.endswith("confirmed more in 1 and less in 0 of 1 world")
    two = statistics.judged(dict.fromkeys(("chosen by", "new"), found["w"]), "archive")
    whole, apart = statistics.verdict(two, "ours", "archive", {"chosen by"}).split(
        "; in those by which no setting was chosen "
    )
    assert whole.endswith("of 2 worlds")
    assert apart.endswith("of 1 world")


def test_kappa_and_eta_of_facts_by_hand():
    facts = fake([10], q=((2.0, 1.0, 1.5), (np.nan, 1.0, 1.0), (np.nan, np.nan, 1.0)))
    # Row 0: mean(1, 1.5) / 2 = 0.625, and it became novel again once, in the last of 2. Row 1: 1, and never.
    assert_allclose(facts.eta, [(0.625 + 1) / 2])
    assert_allclose(facts.kappa, [(0.5 + 0) / 2])


def test_the_bars_by_hand(tmp_path):
    shares = {"maze": 99, "arm": 120, "arm-loose": 115, "arm-unequal": 97}
    found = {name: {"archive": fake([100] * 5), "ours": fake([most] * 5, first=4)} for name, most in shares.items()}
    worlds, judged = {name: world(name) for name in shares}, statistics.judged(found, "archive")
    comparison = Comparison(worlds, found, [0, 1, 2, 3, 4], "archive", tmp_path, [], judged)
    told = bars.bars(comparison, "ours")
    assert [(bar.measured, bar.reached) for bar in told] == [
        ("0.99 (maze)", True),
        ("2 of 3", True),
        ("1.113", True),
        ("0.98 (maze)", True),
        ("0.97", False),
        ("0.500, 0.000", True),
        ("5 of 5", True),
        ("4 and 5", True),
        ("0.96", False),
    ]


def test_cells_are_where_the_tip_is_whatever_the_descriptor():
    genotypes = jax.random.uniform(jax.random.key(0), (20, 7))
    picture, plain = (PlanarArm(7, kind).evaluate(genotypes, jax.random.key(0)) for kind in ("picture", "tip"))
    anyone = search().init(jax.random.key(0)).population
    drawn = anyone._replace(genotype=genotypes, descriptor=picture.descriptor)
    assert_allclose(tip(drawn), plain.descriptor)
    reached = world("arm").cells.visited(anyone._replace(genotype=genotypes, descriptor=plain.descriptor))
    assert_array_equal(world("arm-picture").cells.visited(drawn), reached)


@pytest.mark.slow
def test_an_estimate_names_every_world_and_ends_with_the_sum():
    worlds = [of_task(HostIdentity(), 4, 50)]
    twice = hours(worlds, {"counts": GridCounts()}, seeds=20, workers=8, operators=2).splitlines()
    assert twice[-1].startswith("2 methods, 20 seeds: about ")
    assert twice[-1].endswith(f" on {cores()} cores")
    lines = hours(worlds, {"counts": GridCounts()}, seeds=20).splitlines()
    assert lines[0].startswith("HostIdentity")
    assert lines[1].startswith("1 methods, 20 seeds: about")


def test_the_suites_names_and_halves():
    assert len({each.name for each in SUITE}) == len(SUITE)
    assert {each.half for each in SUITE} == {"tune", "report", "held out"}
    with pytest.raises(ValueError, match="a world is one of maze, "):
        world("moon")


def test_the_arms_reachable_cells_are_those_that_its_disc_meets():
    reach = world("arm").cells
    tips = np.random.default_rng(0).normal(size=(200_000, 2))
    tips *= (0.5 * np.sqrt(np.random.default_rng(1).random((200_000, 1)))) / np.linalg.norm(tips, axis=1, keepdims=True)
    met = {tuple(cell) for cell in np.floor((tips + 0.5) * reach.side).astype(int)}
    corners = (np.abs((np.arange(reach.side) + 0.5) / reach.side - 0.5) - 0.5 / reach.side).clip(0)
    assert len(met) <= int((np.hypot(corners[:, None], corners[None]) < 0.5).sum()) == reach.reachable
    assert jnp.asarray(reach.reachable - len(met)) < 15  # corners of cells that few random tips find
