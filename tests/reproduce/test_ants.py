"""The ants' searches: which are run, which are forks, how much is left, and processes side by side."""

import json
import os
import shutil
import time

import equinox as eqx
import numpy as np
import pytest
from worlds import HostIdentity

from brns import ArchiveKNN, NoveltySearch, Record, run
from brns.pictures import method
from brns.reproduce import ants, estimate, reproduce
from brns.reproduce.alone import alone, side_by_side
from brns.reproduce.ant_claims import of_selection
from brns.reproduce.elsewhere import all_here, joined
from brns.reproduce.plan import SCALES, Runs, ant_methods
from brns.reproduce.verdicts import FAILS, HOLDS
from brns.runs.tracking import untracked
from brns.settings import SettingsError, build, describe
from brns.workers import Chunked

ALONE = {"paper", "recognition", "exact", "random"}


def test_archives_that_never_fill_are_run_once():
    assert set(ant_methods(1500, 150)) == {*ALONE, "archive-6000"}
    assert set(ant_methods(1500, 201)) == {*ALONE, "archive-2000", "archive-6000"}
    assert set(ant_methods(1500, 1000)) == {*ALONE, "archive-2000", "archive-4000", "archive-6000"}


def test_a_record_can_rebuild_every_method():
    methods = ant_methods(1500, 1000)
    assert all(describe(build(describe(search))) == describe(search) for search in methods.values())
    assert all(search.task.steps == 1500 for search in methods.values())
    assert methods["random"].estimator == methods["archive-6000"].estimator


def test_random_search_is_called_so(tmp_path):
    methods = ant_methods(1500, 150)
    runs = {name: Record.create(tmp_path / name, search, 0, [0], 1, 1) for name, search in methods.items()}
    assert method(runs["random"]) == "random search"
    assert method(runs["archive-6000"]) == "archive k-NN"


def test_archives_are_one_search_until_the_smaller_is_full():
    """Ten enter in a generation: 2000 are full after 200, and a state is kept every 10, or every 15."""
    methods = ant_methods(1500, 1000)
    assert ants.shared(methods, 10) == {"archive-2000": 200, "archive-4000": 400}
    assert ants.shared(methods, 15) == {"archive-2000": 195, "archive-4000": 390}
    archives = ["archive-6000", "archive-4000", "archive-2000"]
    assert ants.chains(methods, 10) == [["paper"], ["recognition"], ["exact"], archives, ["random"]]
    assert ants.chains(ant_methods(1500, 150), 10)[-2:] == [["archive-6000"], ["random"]]


TINY = {
    f"archive-{capacity}": NoveltySearch(
        HostIdentity(), ArchiveKNN(k=2, growth=3, capacity=capacity), population_size=8, offspring_size=6
    )
    for capacity in (9, 18)
}
PLAN = Runs(2, 6, 2)


@pytest.fixture
def in_this_process(monkeypatch):
    """The processes' work done here, by methods that take little; every call is noted."""
    calls = []

    def here(module, several, sides):
        for arguments in several:
            calls.append(arguments[-2:])
            ants.main(arguments)
            yield "a line"

    monkeypatch.setattr(ants, "ant_methods", lambda steps, generations: TINY)
    monkeypatch.setattr(ants, "side_by_side", here)
    return calls


def test_searches_go_on_where_they_were_stopped_and_are_those_of_runs_alone(tmp_path, in_this_process):
    """Of seed 0 the large archive was stopped at generation 4; nothing of what was done is done again."""
    run(TINY["archive-18"], 4, out=tmp_path / "archive-18" / "seed0000", seeds=0, keep_every=2)
    forks = ants.shared(TINY, 2)
    assert forks == {"archive-9": 2}
    left = {name: [ants.remaining(tmp_path, name, seed, PLAN, forks) for seed in range(2)] for name in TINY}
    assert left == {"archive-9": [4, 4], "archive-18": [2, 6]}
    found = ants.run_ants(TINY, PLAN, 1500, tmp_path, 1, None, untracked)
    assert {name: [record.seed for record in found[name]] for name in found} == {name: [0, 1] for name in TINY}
    for name, search in TINY.items():
        (whole,) = run(search, 6, out=tmp_path / "alone" / name, seeds=1, keep_every=2)
        for column in ("offspring.novelty", "survivors.id"):
            np.testing.assert_array_equal(found[name][1].column(column), whole.column(column))
    assert in_this_process == [["archive-18", "archive-9"]] * 2
    before = sorted((file, file.stat().st_mtime_ns) for file in tmp_path.rglob("*.npz"))
    ants.run_ants(TINY, PLAN, 1500, tmp_path, 1, None, untracked)
    assert len(in_this_process) == 2
    assert sorted((file, file.stat().st_mtime_ns) for file in tmp_path.rglob("*.npz")) == before


def test_a_search_on_a_cluster_goes_on_without_and_no_other_does_with_one(tmp_path):
    search = TINY["archive-18"]
    in_chunks = eqx.tree_at(lambda s: s.task, search, Chunked(search.task))
    for name, one in (("apart", in_chunks), ("alone", search)):
        run(one, 1, out=tmp_path / name)
    assert describe(ants.begun(search, tmp_path / "apart", None)) == describe(in_chunks)
    assert describe(ants.begun(search, tmp_path / "alone", None)) == describe(search)
    with pytest.raises(SettingsError, match="was begun without --dask"):
        ants.begun(search, tmp_path / "alone", "tcp://127.0.0.1:1")


def test_a_folder_of_something_else_is_named_and_left(tmp_path):
    run(TINY["archive-18"], 4, out=tmp_path / "archive-18" / "seed0000", seeds=0, keep_every=4)
    with pytest.raises(ValueError, match="holds runs of 1 seed and 4 generations, a state kept every 4, and asked"):
        ants.run_ants(TINY, PLAN, 1500, tmp_path, 1, None, untracked)
    assert Record(tmp_path / "archive-18" / "seed0000").generations == list(range(5))


def test_an_estimate_by_hand(tmp_path, monkeypatch):
    """Seven methods of two seeds, 1000 generations each but for what archives share; a line every 2 s on each side."""
    clock = iter(range(10_000))
    monkeypatch.setattr(estimate.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(estimate, "side_by_side", lambda *_: (f"paper {i % 2} {1 + i // 2}" for i in range(10)))
    chosen = SCALES["paper"]._replace(ant=Runs(2, 1000, 10))
    told = estimate.estimate(["ant"], chosen, tmp_path, workers=2)
    assert f"{2 * (7000 - 200 - 400)} generations to go of 2 seeds of 7 methods, 2 side by side, 2 s" in told
    assert "about 3.6 hours" in told  # 12800 x 2 s / 2


def test_an_estimate_of_what_is_done_is_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "ant_methods", lambda steps, generations: {"archive-18": TINY["archive-18"]})
    run(TINY["archive-18"], 4, out=tmp_path / "runs" / "ant" / "archive-18" / "seed0000", seeds=0, keep_every=2)
    chosen = SCALES["smoke"]._replace(ant=Runs(1, 4, 2))
    assert estimate.estimate(["ant", "timing"], chosen, tmp_path).startswith("ant: all 1 seeds of 1 methods are done.")


def test_finished_searches_are_those_as_long_as_planned(tmp_path):
    with pytest.raises(ValueError, match=r"needs one with 6 generations, and .* has none: give the command without"):
        ants.finished(TINY, PLAN, tmp_path)
    for seed, generations in ((0, 6), (1, 4)):
        run(TINY["archive-18"], generations, out=tmp_path / "archive-18" / f"seed000{seed}", seeds=seed, keep_every=2)
    found = ants.finished(TINY, PLAN, tmp_path)
    assert {name: [record.seed for record in records] for name, records in found.items()} == {"archive-18": [0]}
    with pytest.raises(ValueError, match="a page of finished searches is of ant alone; got maze, ant"):
        reproduce(["maze", "ant"], "smoke", tmp_path, finished=True)
    with pytest.raises(ValueError, match="has none: give the command without"):
        reproduce(["ant"], "smoke", tmp_path / "new", finished=True)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_page_of_finished_searches_says_which_are_and_runs_none(tmp_path, monkeypatch):
    """Of two seeds of BR-NS one is finished, of the archive both, one of which would go on; of random search none."""
    chosen = SCALES["smoke"]._replace(ant=Runs(2, 2, 1), ant_steps=16)
    monkeypatch.setitem(SCALES, "smoke", chosen)
    methods = {name: ant_methods(16, 2)[name] for name in ("paper", "archive-6000", "random")}
    monkeypatch.setattr("brns.reproduce.ant_methods", lambda steps, generations: methods)
    folder = tmp_path / "runs" / "ant"
    for name, seed, generations in (("paper", 0, 2), ("paper", 1, 1), ("archive-6000", 0, 2), ("archive-6000", 1, 2)):
        run(methods[name], generations, out=ants.place(folder, name, seed), seeds=seed, keep_every=1)
    page = reproduce(["ant"], "smoke", tmp_path, finished=True).read_text()
    assert "of 2 seeds of each: BR-NS, paper's settings: 1; archive k-NN, 6000: 2; random search: 0." in page
    assert "| BR-NS, paper's settings (n = 1) | archive k-NN, 6000 (n = 2) |" in page
    assert Record(ants.place(folder, "paper", 1)).last == 1
    assert not (folder / "random").exists()


@pytest.fixture
def small(monkeypatch):
    """Three methods of two seeds, and one figure; returns what runs one seed of one."""
    monkeypatch.setitem(SCALES, "smoke", SCALES["smoke"]._replace(ant=Runs(2, 2, 1), ant_steps=16))
    methods = {name: ant_methods(16, 2)[name] for name in ("paper", "archive-6000", "random")}
    monkeypatch.setattr("brns.reproduce.ant_methods", lambda steps, generations: methods)
    monkeypatch.setattr("brns.reproduce.figures_of", lambda kind: ("age",))

    def one(out, name, seed):
        return run(methods[name], 2, out=ants.place(out / "runs" / "ant", name, seed), seeds=seed, keep_every=1)

    return one


def test_results_are_joined_by_hand():
    """Seed 1 is in both, and what is measured now counts; an infinite number is null in JSON."""

    def results(commit, **rows):
        methods = {
            name: {"label": name, "seeds": list(seeds), "rows": list(seeds.values())} for name, seeds in rows.items()
        }
        return {"methods": methods, "experiment": {}, "made": [], "provenance": {"commit": commit}}

    before = results("a", paper={0: {"eta": None}, 1: {"eta": 9.0}}, random={3: {"eta": 4.0}})
    found = joined(results("b", paper={1: {"eta": 2.0}}), before)
    assert found["methods"]["paper"]["seeds"] == [0, 1]
    assert [row["eta"] for row in found["methods"]["paper"]["rows"]] == [np.inf, 2.0]
    assert found["methods"]["random"]["summary"]["eta"]["mean"] == 4
    assert found["measured_before"] == [{"commit": "a", "seeds": {"paper": [0], "random": [3]}}]
    assert joined(results("c", paper={0: {}, 1: {}}, random={3: {}}), before)["provenance"] == {"commit": "c"}
    assert all_here({"paper": [0, 1, 2], "random": [3]}, before)
    assert not all_here({"paper": [0, 1, 2]}, before)


@pytest.mark.slow
def test_seeds_whose_records_are_elsewhere_stay_on_the_page(tmp_path, small, monkeypatch):
    """A page of three searches, then its results without the records and one search more: as if all were there."""
    here, there = tmp_path / "here", tmp_path / "there"
    for name, seed in (("random", 0), ("random", 1), ("archive-6000", 0)):
        small(here, name, seed)
    reproduce(["ant"], "smoke", here, finished=True)
    shutil.copytree(here / "ant", there / "ant")
    drawn = (there / "ant" / "age.png").stat().st_mtime_ns
    small(there, "archive-6000", 1)
    page = reproduce(["ant"], "smoke", there, finished=True).read_text()
    assert "| archive k-NN, 6000 (n = 2) | random search (n = 2) |" in page
    assert "of 2 seeds of each: BR-NS, paper's settings: 0; archive k-NN, 6000: 2; random search: 2." in page
    assert "- Measured before, seeds whose records were not here: " in page
    assert "archive k-NN, 6000 seed 0; random search seeds 0, 1: Commit" in page
    assert "all seeds of the table, but of some methods these alone: archive k-NN, 6000 seed 0." in page
    assert (there / "ant" / "age.png").stat().st_mtime_ns == drawn

    small(here, "archive-6000", 1)
    whole = reproduce(["ant"], "smoke", here, finished=True).read_text()
    assert "Measured before" not in whole
    assert "Drawn from" not in whole
    results = [json.loads((out / "ant" / "results.json").read_text()) for out in (here, there)]
    assert results[0]["methods"] == results[1]["methods"]
    assert results[0]["experiment"] == results[1]["experiment"]
    assert results[1]["drawn"] == {"archive-6000": [0], "random": [0, 1]}

    monkeypatch.setattr("brns.reproduce.results.here", lambda: results[1]["provenance"] | {"commit": "later"})
    again = reproduce(["ant"], "smoke", there, finished=True).read_text()  # of what is there already
    assert again.count("Measured before") == 1
    found = json.loads((there / "ant" / "results.json").read_text())
    assert found["methods"] == results[1]["methods"]
    assert found["measured_before"] == results[1]["measured_before"]
    assert found["measured_before"][0]["seeds"] == {"archive-6000": [0], "random": [0, 1]}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "told"), [("paper", "of which none is finished"), ("random", "### Numbers")])
def test_a_page_of_one_method_alone(tmp_path, small, monkeypatch, name, told):
    """Without an archive there is no picture of one, and random search alone is held against nothing."""
    monkeypatch.setattr("brns.reproduce.figures_of", lambda kind: ("age", "archive"))
    small(tmp_path, name, 0)
    page = reproduce(["ant"], "smoke", tmp_path, finished=True).read_text()
    assert told in page
    assert "What selection adds" not in page
    assert (tmp_path / "ant" / "age.png").exists() == (name == "paper")
    assert not (tmp_path / "ant" / "archive.png").exists()


def test_results_of_another_experiment_or_scale_are_not_lost(tmp_path, small):
    small(tmp_path, "paper", 0)
    reproduce(["ant"], "smoke", tmp_path, finished=True)
    path = tmp_path / "ant" / "results.json"
    other = json.loads(path.read_text())
    for changed, words in (
        ({"scale": "Scale `paper`."}, r"results of another scale \(there: Scale `paper`. asked for: Scale `smoke`"),
        ({"experiment": {**other["experiment"], "population_size": 7}}, "population_size was 7 and is 25"),
        (
            {"methods": {"paper": {**other["methods"]["paper"], "estimator": {"name": "GridCounts"}}}},
            "another estimator",
        ),
    ):
        path.write_text(json.dumps({**other, **changed}))
        before = path.read_bytes()
        for finished in (True, False):
            with pytest.raises(ValueError, match=words):
                reproduce(["ant"], "smoke", tmp_path, finished=finished)
        assert path.read_bytes() == before
    del other["experiment"]["task"]["stuck_window"], other["made"]  # as a version before that setting wrote it
    path.write_text(json.dumps(other))
    reproduce(["ant"], "smoke", tmp_path, finished=True)
    for part in ("maze", "ablation"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "results.json").write_text(json.dumps({"scale": "Scale `paper`."}))
        with pytest.raises(ValueError, match="results of another scale"):
            reproduce([part], "smoke", tmp_path)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that prints its argument and its cores, waits, and fails if told to."""
    (tmp_path / "said.py").write_text(
        "import os, sys, time\n"
        "print(sys.argv[1], os.environ['OMP_NUM_THREADS'], len(os.sched_getaffinity(0)), time.time(), flush=True)\n"
        "time.sleep(float(sys.argv[2]))\n"
        "sys.exit(int(sys.argv[3]))\n"
    )
    monkeypatch.chdir(tmp_path)
    return "said"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not bind to cores")
def test_processes_side_by_side_have_one_core_and_one_thread_each(module):
    lines = [line.split() for line in side_by_side(module, [[f"{i}", "0.3", "0"] for i in range(3)], 2)]
    assert sorted(line[0] for line in lines) == ["0", "1", "2"]
    assert {(line[1], line[2]) for line in lines} == {("1", "1")}
    began = {line[0]: float(line[3]) for line in lines}
    assert began["2"] > min(began["0"], began["1"]) + 0.3  # the third waited for the first to end
    assert list(side_by_side(module, [], 2)) == []


def test_where_a_process_fails_the_others_are_ended(module):
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"said ended with status 3; .* give the command again to go on"):
        list(side_by_side(module, [["0", "60", "0"], ["1", "0", "3"], ["2", "0", "0"]], 2))
    assert time.monotonic() - began < 50
    with pytest.raises(RuntimeError, match="said ended with status 3"):
        alone(module, ["0", "0", "3"])


def test_a_process_that_cannot_be_begun_is_not_forgotten(module, monkeypatch):
    def refused(*arguments, **options):
        raise OSError("no memory")

    monkeypatch.setattr("subprocess.Popen", refused)
    with pytest.raises(RuntimeError, match=r"said could not be begun \(no memory\)"):
        list(side_by_side(module, [["0", "0", "0"]], 1))


def test_who_stops_listening_ends_the_processes(module):
    began = time.monotonic()
    lines = side_by_side(module, [["0", "60", "0"]], 1)
    assert next(lines).startswith("0")
    lines.close()
    assert time.monotonic() - began < 50


def test_what_selection_adds_by_hand():
    def method(coverage, uniformity):
        rows = [{"coverage_signatures": coverage + i, "uniformity_visits": uniformity + i} for i in range(5)]
        estimates = {name: {"mean": 1.0, "deviation": 1.0, "seeds": 5} for name in rows[0]}
        return {"label": "", "rows": rows, "summary": estimates}

    def verdicts(**methods):
        return [row.verdict for row in of_selection({"planned_generations": 1000, "methods": methods})]

    better, worse, random = method(20.0, 0.0), method(0.0, 20.0), method(10.0, 10.0)
    assert verdicts(paper=better, exact=better, random=random) == [HOLDS, HOLDS]
    assert verdicts(paper=worse, exact=worse, random=random) == [FAILS, FAILS]
