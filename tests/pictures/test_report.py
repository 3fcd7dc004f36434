"""The report: what it says, that nothing in it comes from elsewhere, and how it behaves in a real browser."""

import base64
import html.parser
import json
import math
import re
import shutil
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from brns import Record
from brns.metrics import dynamics
from brns.metrics.measures import MEASURES
from brns.metrics.numbers import number
from brns.metrics.summary import over_seeds
from brns.pictures import FIGURES, figures_of, novelty_grid
from brns.pictures.report import page as report
from brns.pictures.report import table
from brns.pictures.report import view as interactive
from brns.pictures.report.svg import curves, svg
from brns.pictures.scene import scene_of
from brns.pictures.worlds import open_cells


class Elements(html.parser.HTMLParser):
    """Every element with its attributes, and the text of table cells."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.cells, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("td", "th"):
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, text):
        if self.inside:
            self.cells[-1] += text


def view(page):
    """The data of the interactive view."""
    return json.loads(re.search(r'<script type="application/json" id="runs">(.*?)</script>', page.read_text())[1])


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


def test_the_table_holds_the_summarys_numbers(runs, page):
    cells = Elements(page.read_text()).cells
    for group in (runs[:2], runs[2:]):
        for name, estimate in over_seeds(group).items():
            at = cells.index(MEASURES[name].title)
            expected = number(estimate.mean)
            if estimate.seeds == 2:
                expected += f" ± {number(estimate.deviation)}"
            else:
                expected += f" (n = {estimate.seeds})"
            assert expected in cells[at + 1 : at + 3], name


def test_what_was_run_is_told(runs, page):
    cells = Elements(page.read_text()).cells
    at = cells.index("estimator.capacity")
    assert cells[at + 1 : at + 3] == ["–", "64"]
    at = cells.index("task.steps")
    assert cells[at + 1 : at + 3] == ["50", "50"]
    assert any(f"jax {runs[0].versions['jax']}" in cell for cell in cells)
    assert str(runs[3].path) in cells


def test_nothing_is_fetched_and_the_page_is_small(page):
    text = page.read_text()
    for tag, attributes in Elements(text).elements:
        for name in ("src", "href", "xlink:href", "action", "data"):
            address = attributes.get(name) or ""
            assert address.startswith(("#", "data:")) or address == "", (tag, address)
        assert tag not in ("link", "iframe", "object", "embed")
    assert "default-src 'none'" in text
    assert "@import" not in re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert page.stat().st_size < 10e6


def test_every_figure_is_there_or_the_reason_why_not(page):
    text = page.read_text()
    shown = set(re.findall(r'id="figure-([\w-]+)"', text))
    assert shown == set(figures_of("planar"))
    assert "needs descriptors that are paths; those of DeceptiveMaze" in text
    ids = [attributes["id"] for _, attributes in Elements(text).elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_view_holds_the_record(runs, page):
    data = view(page)
    assert [(one["method"], one["seed"]) for one in data["runs"]] == [
        *(("BR-NS", 0), ("BR-NS", 1), ("archive k-NN", 0), ("archive k-NN", 1))
    ]
    record, one = runs[3], data["runs"][3]
    assert one["generations"] == record.generations
    places = unpacked(one["place"], "<f4").reshape(7, 10, 2)
    np.testing.assert_array_equal(places, record.column("survivors.descriptor"))
    for name, kind in [("novelty", "<f4"), ("id", "<i4"), ("parent", "<i4"), ("born", "<i4")]:
        np.testing.assert_array_equal(unpacked(one[name], kind).reshape(7, 10), record.column(f"survivors.{name}"))
    assert [m["generation"] for m in one["maps"]] == record.snapshots == [0, 2, 4, 6]
    levels = unpacked(one["maps"][2]["levels"], "u1").reshape(40, 40)
    novelty, reached = novelty_grid(record, 4, 40), open_cells(scene_of(record), 40)
    assert not levels[~reached].any()
    order = np.argsort(novelty[reached])
    assert (np.diff(levels[reached][order].astype(int)) >= 0).all()  # colours are ranks
    ranks = np.argsort(order) / (reached.sum() - 1)
    np.testing.assert_allclose((levels[reached] - 1.0) / 254, ranks, atol=0.01)
    quarters = np.quantile(novelty[reached], [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(one["maps"][2]["quarters"], quarters, rtol=0.02)


def test_curves_are_told_where_they_are_drawn(runs, page):
    told = json.loads(re.search(r'<script type="application/json" id="curves">(.*?)</script>', page.read_text())[1])
    assert set(told) == {name for name in figures_of("planar") if FIGURES[name].panels in ("one", "method")}
    (panel,) = told["age"]
    assert [line["label"] for line in panel["lines"]] == ["BR-NS (2 seeds)", "archive k-NN (2 seeds)"]
    ages = [dynamics.age_of_record(record) for record in runs[:2]]
    np.testing.assert_allclose(panel["lines"][0]["y"], np.mean(ages, axis=0), rtol=1e-3)


def test_the_places_of_curves_are_those_in_the_picture():
    figure = Figure(figsize=(4, 3), layout="constrained")
    figure.subplots().plot([0, 10], [1, 5], color="#123456", label="a line")
    text = svg(figure, "name", "title")
    (panel,) = curves(figure)
    x, y = map(float, re.search(r'd="M ([\d.]+) ([\d.]+)[^>]*stroke: #123456', text).groups())
    left, top, right, bottom = panel["box"]
    low, high = panel["limits"]
    assert left - low / (high - low) * (right - left) == pytest.approx(x, abs=0.01)
    assert top < y < bottom
    assert panel["lines"] == [{"label": "a line", "color": "#123456", "x": [0.0, 10.0], "y": [1.0, 5.0]}]


def test_runs_of_different_length_are_warned_of(runs, page, tmp_path):
    assert 'class="warning"' not in page.read_text()
    shutil.copytree(runs[0].path, tmp_path / "short")
    (tmp_path / "short" / "generations" / "000006.npz").unlink()
    text = report.write([Record(tmp_path / "short"), runs[1]], tmp_path / "unlike.html").read_text()
    assert "BR-NS: 5 to 6 generations" in text


def test_a_test_of_the_table_is_that_of_compare():
    values = {
        ("age", "a"): [1.0, 2.0, 3.0, 4.0],
        ("age", "b"): [5.0, 6.0, 7.0, 8.0],
        ("eta", "a"): [1.0] * 4,
        ("eta", "b"): [1.0] * 4,
    }
    told = table._tests(values, ["a", "b"])
    # All of b lie above a: p is 2 / C(8, 4) = 1 / 35, by Holm twice that; nothing differs in eta.
    assert told["age", "b"] == f'<br><span class="spread">A = 1.00, p = {2 / 35:.2g}</span>'
    assert "A = 0.50, p = 1<" in told["eta", "b"]
    # Who never solved it is later than all others: none of b did, and one of a was as late.
    late = {("first_solved", "a"): [1.0, 2.0, 3.0, math.inf], ("first_solved", "b"): [math.inf] * 4}
    assert "A = 0.88" in table._tests(late, ["a", "b"])["first_solved", "b"]
    assert not table._tests({key: v[:3] for key, v in values.items()}, ["a", "b"])  # 2 / C(6, 3) = 0.1


@pytest.mark.slow
def test_what_is_thinned_is_said(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(interactive, "MOST_VIEWS", 2)
    monkeypatch.setattr(interactive, "MOST_FRAMES", 3)
    page = report.write(runs, tmp_path / "thin.html")
    data = view(page)
    assert [one["seed"] for one in data["runs"]] == [0, 0]
    assert data["runs"][0]["generations"] == [0, 3, 6]
    assert [m["generation"] for m in data["runs"][0]["maps"]] == [0, 2, 6]  # The last kept, up to each.
    assert "shows 2 of 4 runs" in page.read_text()
    assert "at most 3 of 7 generations" in page.read_text()


def test_one_run_makes_a_report(runs, tmp_path):
    page = report.write([runs[0]], tmp_path / "one.html")
    cells = Elements(page.read_text()).cells
    at = cells.index("Evaluations")
    assert cells[at + 1] == "70"  # 10 founders and 6 times 10 offspring, without a spread.


def test_no_runs_and_two_tasks_are_refused(runs, tmp_path):
    with pytest.raises(ValueError, match="at least one run"):
        report.write([], tmp_path / "none.html")
    other = Record(runs[0].path)
    other.experiment = {**other.experiment, "task": {**other.experiment["task"], "steps": 60}}
    with pytest.raises(ValueError, match="different tasks"):
        report.write([*runs, other], tmp_path / "two.html")
    with pytest.raises(ValueError, match="there is no folder"):
        report.write(runs, tmp_path / "nowhere" / "page.html")


def test_without_plotly_the_extra_is_named_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"pip install 'brns\[report\]'"):
        report.write([], tmp_path / "report.html")


def test_no_text_of_a_record_becomes_markup(page, attack, attacked):
    def scripts_and_pictures(path):
        return sum(tag in ("script", "img") for tag, _ in Elements(path.read_text()).elements)

    assert scripts_and_pictures(attacked) == scripts_and_pictures(page)
    assert not any(
        name.startswith("on") and tag != "button"
        for tag, attributes in Elements(attacked.read_text()).elements
        for name in attributes
    )
    assert attack in Elements(attacked.read_text()).cells
