"""The page and what stands behind it, and the parts from end to end."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from brns.comparison.markdown import format_command_and_provenance
from brns.runs.provenance import group_by_provenance
from reproduction import page, parts, pictures, runs
from reproduction.__main__ import main
from reproduction.cost_claims import _judge_constant_cost, judge_cost_claims
from reproduction.costs import CONTROL, KNN, TREE, WIDE, Costs
from reproduction.plan import SCALES, Runs, Timing
from reproduction.verdicts import FAILS, HOLDS, PARTLY

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def costs(tmp_path):
    """Timings by formulas: BR-NS costs d, or 1 with a fixed width, a tree n d / 100,
    exact searches n / 100; of 200 individuals a tree costs n d^2 / 100."""
    lines = ["method,d,entries,individuals,repeat,ms,wall_ms,bytes,session"]
    for individuals in (50, 200):
        for d in (4, 16):
            lines.append(f'"BR-NS, width 3d",{d},0,{individuals},0,{d},1,8,0')
            lines.append(f'"BR-NS, width 64",{d},0,{individuals},0,1,1,8,0')
            for n in (200, 800, 3200):
                tree = n * d ** {50: 1, 200: 2}[individuals] / 100
                lines.append(f"KD-tree,{d},{n},{individuals},0,{tree},1,8,0")
                lines.append(f"k-NN,{d},{n},{individuals},0,{n / 50},1,8,0")
                lines.append(f"brute force,{d},{n},{individuals},0,{n / 100},1,8,0")
    lines += ['"BR-NS, width 3d",16,0,50,1,15,1,8,0', '"BR-NS, width 3d",16,0,50,2,999,1,8,0']
    (tmp_path / "timing.csv").write_text("\n".join(lines) + "\n")
    over = ["method,d,generations,generation,entries,ms,wall_ms,bytes,session"]
    for g in range(0, 2000, 20):
        slower = 1 + g / 4000  # the machine, whoever is timed
        over += [f'"{CONTROL}",32,2000,{g},2000,{slower},2,8,0']
        over += [f'"BR-NS, width 3d",32,2000,{g},0,{2 * slower},2,8,0']
        over += [f"k-NN,32,2000,{g},{10 * g},{slower * (1 + g / 1000)},2,8,0"]
        over += [f"KD-tree,32,2000,{g},{10 * g},{slower * (1 + g / 500)},2,8,0"]
        # a second call, on a machine twice as slow
        over += [f'"{CONTROL}",32,2000,{g},2000,{2 + g / 100},2,8,1']
    (tmp_path / "cost-over-time.csv").write_text("\n".join(over) + "\n")
    return Costs(tmp_path, Timing((4, 16), (200, 800, 3200), 1, 2000))


def test_crossovers_are_where_costs_are_equal_and_what_costs_more_is_said(costs):
    assert costs.find_crossover("BR-NS, width 3d", "exact", 16, 50).entries == pytest.approx(1600)
    assert costs.find_crossover("BR-NS, width 3d", "KD-tree", 4, 50) == (200, "<")
    assert costs.find_crossover("BR-NS, width 64", "exact", 4, 50).text == "below 200"
    found = {row.source: row for row in judge_cost_claims(costs)}
    assert found["table I"].verdict == HOLDS
    assert "at d = 16, " in found["table I"].measured
    assert "2 times that with 200 entries, 8 times" in found["table I"].measured
    assert found["figure 6"].verdict == PARTLY  # BR-NS × 4, a tree × 16, k-NN × 1
    assert found["table I, our baseline"].verdict == PARTLY
    assert found["3.3"].verdict == HOLDS
    assert _judge_constant_cost({WIDE: 1.2, TREE: 2.0, KNN: 2.0}, 2000) == FAILS
    assert _judge_constant_cost({WIDE: 1.0, TREE: 1.0, KNN: 2.0}, 2000) == PARTLY


def test_costs_speak_of_what_was_asked(costs, tmp_path):
    fewer = Costs(tmp_path, Timing((4,), (200,), 1, 40))
    assert (fewer.dimensions, fewer.entries, fewer.over_time) == ([4], [200], [])
    assert {(d, n) for _, d, n, _ in fewer.medians} == {(4, 0), (4, 200)}
    assert len(costs.over_time) == 500
    least = judge_cost_claims(Costs(tmp_path, Timing((4,), (200,), 1, 2000)))
    assert [row.verdict for row in least[:2]] == [HOLDS, FAILS]  # 8 and 2 ms against 4
    assert "the paper's width from above 200" in least[4].measured


def test_what_is_followed_over_time_has_the_control_of_its_own_call(costs):
    assert costs.compute_drift("BR-NS, width 3d") == pytest.approx(1)
    assert costs.compute_drift("k-NN") == pytest.approx((1 + 1.89) / (1 + 0.09), rel=0.01)
    lines = pictures.draw_cost_over_time(costs).axes[0].lines
    assert [line.get_label() for line in lines].count(CONTROL) == 1
    assert all(np.all(np.diff(line.get_xdata()) > 0) for line in lines)


def test_a_table_says_what_made_its_runs():
    runs = [("one", "aaa"), ("one", "aaa"), ("two", "aaa"), ("three", "b")]
    made = group_by_provenance(
        (name, {"commit": commit, "versions": {"brns": "1"}}) for name, commit in runs
    )
    assert [each["rows"] for each in made] == [["one", "two"], ["three"]]
    here = {"command": "python -m reproduction", "commit": "analysis", "versions": {"brns": "2"}}
    text = format_command_and_provenance("Small.", made, here)
    assert "- Runs: one; two: Commit aaa; brns 1." in text
    assert "- Runs: three: Commit b; brns 1." in text
    assert "- Measured: Commit analysis; brns 2." in text


def test_the_committed_page_is_of_the_committed_results(tmp_path):
    """Whoever changes a rule or a claim writes the page again:
    `python -m reproduction page --out results`."""
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("runs"))
    page.write_page(tmp_path)
    assert (tmp_path / "README.md").read_text() == (RESULTS / "README.md").read_text()


def test_what_another_call_made_is_not_written_over(tmp_path, capsys):
    (tmp_path / "README.md").write_text("# My project")
    with pytest.raises(SystemExit, match=r"README.md is not a page of ours"):
        main(["maze", "--out", str(tmp_path)])
    for part in ("maze", "ablation", "ant"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "results.json").write_text(json.dumps({"scale": "Scale `paper`."}))
        with pytest.raises(ValueError, match="results of another scale"):
            parts.PARTS[part](parts.Request(tmp_path, "smoke", SCALES["smoke"], 1))
    with pytest.raises(SystemExit):
        main(["labyrinth"])
    assert "maze" in capsys.readouterr().err


@pytest.fixture
def here(monkeypatch):
    """Work in a thread of this process, two figures a part, and the least to run."""
    monkeypatch.setattr(runs, "open_process_pool", lambda workers: ThreadPoolExecutor(1))
    monkeypatch.setattr(parts, "open_process_pool", lambda workers: ThreadPoolExecutor(1))
    monkeypatch.setattr(
        parts.timing.os, "sched_setaffinity", lambda process, cores: None, raising=False
    )
    monkeypatch.setattr(parts, "PICTURES", ())
    tiny = SCALES["smoke"]._replace(
        maze=Runs(2, 2, 1),
        ablation=Runs(1, 1, 1),
        variants=("paper", "population"),
        ant=Runs(1, 2, 1),
        ant_steps=16,
        timing=Timing((2,), (200,), 1, 20),
    )
    monkeypatch.setitem(SCALES, "smoke", tiny)


@pytest.mark.slow
def test_each_part_from_end_to_end(tmp_path, here, capsys):
    for _ in range(2):  # the second finds all done
        main(["all", "--out", str(tmp_path)])
        text = (tmp_path / "README.md").read_text()
    assert text.count("**cannot be tested at this scale**") > 11 + 12 + 12
    assert "| no archive: k-NN in the population | 0 of 1 |" in text
    assert "An episode has 16 control steps. In 2 generations no archive above 20 entries" in text
    assert "1 repeats. Measured by:" in text
    for picture in ("maze/age.png", "ant/age.png", "ablation/ablation.png", "timing/over-time.png"):
        assert (tmp_path / picture).exists()
        assert f"({picture})" in text
    found = json.loads((tmp_path / "maze" / "results.json").read_text(), parse_constant=pytest.fail)
    assert [len(method["rows"]) for method in found["methods"].values()] == [2] * 5
