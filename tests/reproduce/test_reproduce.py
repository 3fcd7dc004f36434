"""The reproduction: verdicts by their rules, crossovers by their definition, and a whole one at the smallest scale."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from worlds import Identity

from brns import GridCounts, NoveltySearch
from brns.experiments import maze, paper_recognition
from brns.pictures import figures_of
from brns.reproduce import pictures, reproduce
from brns.reproduce.cost_claims import of_timing
from brns.reproduce.costs import CONTROL, Costs
from brns.reproduce.page import provenance_text
from brns.reproduce.plan import SCALES, Runs, Timing, variants
from brns.reproduce.provenance import of_runs
from brns.reproduce.runs import run
from brns.reproduce.verdicts import HOLDS, PARTLY
from brns.runs.record import Record
from brns.settings import build, describe


@pytest.fixture
def costs(tmp_path):
    """Timings by formulas: BR-NS costs d, or 1 with a fixed width, a tree n d / 100, exact searches n / 100."""
    lines = ["method,d,entries,individuals,repeat,ms,wall_ms,bytes"]
    for individuals in (50, 200):
        for d in (4, 16):
            lines.append(f'"BR-NS, width 3d",{d},0,{individuals},0,{d},1,8')
            lines.append(f'"BR-NS, width 64",{d},0,{individuals},0,1,1,8')
            lines.append(f'"BR-NS, default",{d},0,{individuals},0,1,1,8')
            for n in (200, 800, 3200):
                lines.append(f"KD-tree,{d},{n},{individuals},0,{n * d / 100},1,8")
                lines.append(f"k-NN,{d},{n},{individuals},0,{n / 50},1,8")
                lines.append(f"brute force,{d},{n},{individuals},0,{n / 100},1,8")
    (tmp_path / "timing.csv").write_text("\n".join(lines) + "\n")
    over = ["method,d,entries,generation,ms,wall_ms,bytes"]
    for g in range(0, 2000, 20):
        slower = 1 + g / 4000  # the machine, whoever is timed
        over += [f'"{CONTROL}",32,2000,{g},{slower},2,8', f'"BR-NS, width 3d",32,0,{g},{2 * slower},2,8']
        over += [f"k-NN,32,{10 * g},{g},{slower * (1 + g / 1000)},2,8"]
        over += [f"KD-tree,32,{10 * g},{g},{slower * (1 + g / 500)},2,8"]
    (tmp_path / "cost-over-time.csv").write_text("\n".join(over) + "\n")
    return Costs(tmp_path)


def test_the_crossover_is_where_costs_are_equal(costs):
    assert costs.crossover("BR-NS, width 3d", "exact", 4, 50).entries == pytest.approx(400)
    assert costs.crossover("BR-NS, width 3d", "exact", 16, 50).entries == pytest.approx(1600)
    assert costs.crossover("BR-NS, width 3d", "KD-tree", 4, 50) == (200, "<")
    assert costs.crossover("BR-NS, width 64", "exact", 4, 50).text == "below 200"


def test_what_costs_more_is_said(costs):
    found = {row.source: row for row in of_timing(costs)}
    assert found["table I"].verdict == HOLDS
    assert found["table I, our baseline"].verdict == PARTLY
    assert found["3.3"].verdict == HOLDS
    assert costs.drift("BR-NS, width 3d") == pytest.approx(1)
    assert costs.drift("k-NN") == pytest.approx((1 + 1.89) / (1 + 0.09), rel=0.01)


def test_every_variant_is_another_experiment_that_a_record_can_rebuild():
    described = [describe(variant.search) for variant in variants().values()]
    assert all(a != b for i, a in enumerate(described) for b in described[:i])
    assert all(describe(build(one)) == one for one in described)


def test_a_run_goes_on_where_it_was_stopped(tmp_path):
    search, plan = NoveltySearch(Identity(), GridCounts(), 8, 8), SCALES["smoke"].maze
    seen = []

    def stopping(steps, title, total, done):
        seen.append(done)
        for saved in steps:
            yield saved
            if saved[0].number == 2 and len(seen) == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(search, plan, tmp_path / "run", "a run", stopping)
    records = run(search, plan, tmp_path / "run", "a run", stopping)
    assert seen == [0, 2]
    assert [record.generations[-1] for record in records] == [plan.generations] * plan.seeds
    assert run(search, plan, tmp_path / "run", "a run")[0].generations[-1] == plan.generations


PLAN = Runs(seeds=2, generations=6, keep_every=2)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (PLAN._replace(seeds=3), "holds runs of 2 seeds and 6 generations.* asked for are 3 seeds and 6"),
        (PLAN._replace(generations=5), "2 seeds and 6 generations.* 2 seeds and 5 generations"),
        (PLAN._replace(keep_every=1), "kept every 2, .* kept every 1"),
    ],
)
def test_what_was_computed_is_never_removed(tmp_path, asked, words):
    search = NoveltySearch(Identity(), GridCounts(), 8, 8)
    run(search, PLAN, tmp_path / "run", "a run")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    with pytest.raises(ValueError, match=words):
        run(search, asked, tmp_path / "run", "a run")
    assert len(before) == 2
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


def test_a_batch_whose_founders_were_not_all_saved_begins_anew(tmp_path):
    search = NoveltySearch(Identity(), GridCounts(), 8, 8)
    Record.create(tmp_path / "run" / "seed0000", search, 0, range(2), PLAN.generations, PLAN.keep_every)
    assert [record.last for record in run(search, PLAN, tmp_path / "run", "a run")] == [6, 6]


def test_a_readme_of_ones_own_is_not_written_over(tmp_path):
    (tmp_path / "README.md").write_text("# My project")
    with pytest.raises(ValueError, match=r"README.md is not a page of ours, .*: take another folder"):
        reproduce(["maze"], "smoke", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md"]


def test_what_is_followed_over_time_has_the_control_of_its_own_call(tmp_path, costs):
    """A second call on a machine twice as slow: no method drifts by it."""
    path = tmp_path / "cost-over-time.csv"
    head, *rows = path.read_text().splitlines()
    later = [f'"{CONTROL}",32,2000,{g},{2 + g / 100},2,8,1' for g in range(0, 2000, 20)]
    path.write_text("\n".join([f"{head},session", *(f"{row},0" for row in rows), *later]) + "\n")
    again = Costs(tmp_path)
    assert again.drift("BR-NS, width 3d") == pytest.approx(1)
    lines = pictures.over_time(again).axes[0].lines
    assert [line.get_label() for line in lines].count(CONTROL) == 1
    assert all(np.all(np.diff(line.get_xdata()) > 0) for line in lines)


def test_a_table_says_what_made_its_runs(tmp_path):
    def record(**facts):
        one = Record.create(tmp_path / f"{len(list(tmp_path.iterdir()))}", maze(paper_recognition()), 0, [0], 1, 1)
        one.facts.clear()
        one.facts.update(facts)
        return one

    here = {"command": "brns reproduce maze", "commit": "analysis", "versions": {"brns": "2"}}
    runs = {
        "one": [record(commit="aaa", versions={"brns": "1"}, device="gpu") for _ in range(2)],
        "two": [record(commit="aaa", versions={"brns": "1"}, device="gpu")],
        "three": [record(commit="bbb", machine={"processor": "Z80", "cores": 1})],
        "four": [record(commit=None)],
    }
    made = of_runs(runs)
    assert [one["rows"] for one in made] == [["one", "two"], ["three"], ["four"]]
    text = provenance_text({"provenance": here, "made": made, "scale": "Small."})
    assert "- Runs: one; two: Commit aaa; brns 1; device gpu." in text
    assert "- Runs: three: Commit bbb; Z80, 1 core." in text
    assert "- Runs: four: Commit unknown." in text
    assert "- Measured: Commit analysis; brns 2." in text
    old = {"a": {"label": "A", "commits": ["ccc"]}, "b": {"label": "B", "commits": ["ddd", "eee"]}}
    text = provenance_text({"provenance": here, "methods": old, "scale": "Small."})
    assert "A: Commit ccc." in text
    assert "B: Commit ddd, eee." in text


def test_wrong_parts_and_scales_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"one of smoke, short, paper; got 'huge'"):
        reproduce(["maze"], "huge", tmp_path)
    with pytest.raises(ValueError, match=r"some of maze, ablation, ant, timing; got labyrinth"):
        reproduce(["labyrinth"], "smoke", tmp_path)


@pytest.mark.slow
def test_a_whole_part_at_the_smallest_scale(tmp_path):
    page = reproduce(["maze"], "smoke", tmp_path)
    text, found = page.read_text(), json.loads((tmp_path / "maze" / "results.json").read_text())
    assert text.count("**cannot be tested at this scale**") == 11 + 12 + 12
    assert set(found["methods"]) == {"paper", "recognition", "exact", "archive"}
    assert all(len(method["rows"]) == SCALES["smoke"].maze.seeds for method in found["methods"].values())
    for name in figures_of("planar"):
        if name.startswith("kappa") and not any(m["summary"]["kappa"]["mean"] for m in found["methods"].values()):
            assert f"maze/{name}.png" not in text
            continue
        assert f"maze/{name}.png" in text
        assert (tmp_path / "maze" / f"{name}.png").stat().st_size > 5000
    lines = (tmp_path / "maze" / "curves.csv").read_text().splitlines()
    assert lines[0] == "method,measure,generation,mean,deviation,seeds"
    row = next(line.split(",") for line in lines if line.startswith("paper,coverage_evaluated,6,"))
    assert float(row[3]) == pytest.approx(found["methods"]["paper"]["summary"]["coverage_evaluated"]["mean"], rel=1e-4)


def test_a_figure_is_flat_where_every_curve_is_0():
    figure = Figure()
    ax = figure.subplots()
    ax.plot([0, 1, 2], [0, 0, 0])
    ax.axhline(1)
    assert pictures.flat(figure)
    ax.plot([0, 1, 2], [0, 0, 0.1])
    assert not pictures.flat(figure)
    assert not pictures.flat(Figure())


TINY = SCALES["smoke"]._replace(
    ablation=Runs(1, 1, 1),
    variants=("paper", "population"),
    ant=Runs(1, 1, 1),
    ant_steps=16,
    timing=Timing((2,), (200,), 1, 20),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "words", "figure"),
    [
        ("ablation", "| no archive: k-NN in the population | 0 of 1 |", "ablation.png"),
        (
            "ant",
            "An episode has 16 control steps. In 1 generations no archive above 10 entries fills up",
            "signature.png",
        ),
        ("timing", "1 repeats. Measured by:", "over-time.png"),
    ],
)
def test_each_other_part_from_end_to_end(tmp_path, monkeypatch, part, words, figure):
    monkeypatch.setitem(SCALES, "tiny", TINY)
    for _ in range(2):  # the second finds all done
        text = reproduce([part], "tiny", tmp_path).read_text()
        assert words in text
        assert f"{part}/{figure}" in text
        assert (tmp_path / part / figure).exists()
    json.loads((tmp_path / part / "results.json").read_text(), parse_constant=pytest.fail)
