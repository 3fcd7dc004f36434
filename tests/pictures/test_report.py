"""The report: what it says, that nothing is fetched, and its view."""

import base64
import html.parser
import os
import re

import numpy as np
import pytest
from files import copy_run
from numpy.testing import assert_array_equal

from brns.formatting import format_number
from brns.metrics.measures import MEASURES, summarize_seeds
from brns.pictures import compute_novelty_grid
from brns.pictures.records import find_scene
from brns.pictures.report import page, view
from brns.pictures.scenes import find_reachable_cells


class Elements(html.parser.HTMLParser):
    """Every element with its attributes, and the text of table cells."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.cells = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, text):
        if self.cells:
            self.cells[-1] += text


def test_the_table_holds_the_summarys_numbers(near, archived, page):
    cells = [cell.strip() for cell in Elements(page.read_text()).cells]
    for group in (near, archived):
        for name, estimate in summarize_seeds(group).items():
            at = cells.index(MEASURES[name].title)
            expected = format_number(estimate.mean)
            expected += f" ± {format_number(estimate.deviation)}" if estimate.seeds > 1 else ""
            expected += f" (n = {estimate.seeds})" if estimate.seeds != len(group) else ""
            assert expected in cells[at + 1 : at + 3], name


def test_what_was_run_is_told(near, archived, page):
    cells = [cell.strip() for cell in Elements(page.read_text()).cells]
    at = cells.index("estimator.capacity")
    assert cells[at + 1 : at + 3] == ["–", "64"]
    assert any(f"jax {near[0].versions['jax']}" in cell for cell in cells)
    assert any(str(archived[0].path) in cell for cell in cells)


def test_nothing_is_fetched_and_the_page_is_small(page):
    text = page.read_text()
    for tag, attributes in Elements(text).elements:
        for name in ("src", "href", "xlink:href", "action", "data"):
            address = attributes.get(name) or ""
            assert address.startswith(("#", "data:")) or address == "", (tag, address)
        assert tag not in ("link", "iframe", "object", "embed")
    assert "default-src 'none'" in text
    assert page.stat().st_size < 1e6


def test_a_folder_is_no_page(near, tmp_path):
    with pytest.raises(ValueError, match="is a folder; give the page's name in it"):
        page.write_report(near, tmp_path)


def test_a_folder_may_have_any_bytes_in_its_name(near, tmp_path):
    """Latin-1, which is no UTF-8."""
    record = copy_run(near[0], tmp_path / os.fsdecode(b"stra\xdfe"))
    out = page.write_report([record], tmp_path / "report.html")
    assert r"stra\udcdfe" in out.read_text(encoding="utf-8")


def test_every_figure_is_there_or_the_reason_why_not(page):
    text = page.read_text()
    assert set(re.findall(r'id="figure-([\w-]+)"', text)) == {"behaviors", "age", "q", "eta"}
    assert "needs descriptors that are paths" in text
    assert "share too few seeds for one to confirm" in " ".join(text.split())
    ids = [attributes["id"] for _, attributes in Elements(text).elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def read(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


@pytest.fixture(scope="module")
def shown(maze):
    return view.gather_view({"a method": maze})


def test_the_view_holds_the_record(maze, shown):
    assert shown["generations"] == [0, 1, 2, 3, 4, 5, 6]
    (panel,) = shown["panels"]
    assert (panel["title"], panel["last"]) == ("a method, seed 0", 6)
    place = read(panel["place"], "<f4").reshape(-1, 2)
    for g in shown["generations"]:
        rows = read(panel["rows"][g], "<i4")
        assert_array_equal(place[rows], maze.column("survivors.descriptor", [g])[0])
        novelty = maze.column("survivors.novelty", [g])[0]
        assert_array_equal(read(panel["novelty"][g], "<f4"), novelty)
        for name, kind in (("id", "<i4"), ("born", "<i4"), ("parent", "<i4"), ("solved", "u1")):
            column = maze.column(f"survivors.{name}", [g])[0]
            assert_array_equal(read(panel[name], kind)[rows], column)
    assert panel["map"]["of"] == [0, 0, 1, 1, 2, 2, 3]  # every second state is kept


def test_the_colours_of_the_map_are_ranks_of_what_can_be_reached(maze, shown):
    novelty = compute_novelty_grid(maze, 4, 40)
    reached = find_reachable_cells(find_scene(maze), maze.behavior_space, 40)
    levels = read(shown["panels"][0]["map"]["levels"][2], "u1").reshape(40, 40)
    assert not levels[~reached].any()
    rising = levels[reached][np.argsort(novelty[reached])].astype(int)
    assert (np.diff(rising) >= 0).all()
    assert (rising[0], rising[-1]) == (1, 255)


def test_a_run_that_ended_earlier_shows_its_last_generation(near, archived, tmp_path):
    short = copy_run(archived[0], tmp_path / "short", 4)
    panels = view.gather_view({"long": near[0], "short": short})["panels"]
    assert [panel["last"] for panel in panels] == [6, 4]
    assert panels[1]["rows"][4] == panels[1]["rows"][6] != panels[1]["rows"][3]


def test_runs_of_different_length_are_warned_of_and_many_generations_are_thinned(
    near, attacked, monkeypatch
):
    assert 'class="warning"' in attacked.read_text()
    monkeypatch.setattr(view, "MOST_FRAMES", 3)
    assert view.choose_generations_of_longest_run(near) == [0, 3, 6]


def test_a_test_of_the_table_is_that_of_compare():
    low, high = ({seed: more + seed for seed in range(8)} for more in (1.0, 5.0))
    values = {"age": {"a": low, "b": high}, "eta": {"a": low, "b": low}}
    seeds = {"a": range(8), "b": range(8)}
    told = page.compare_with_first_method(values, seeds)
    # All of b lie above a: p is 2 / 2^8, by Holm twice that; nothing differs in eta.
    assert told["age", "b"] == pytest.approx((4 / 2**8, 1.0, 8))
    assert told["eta", "b"] == pytest.approx((1.0, 0.5, 8))
    # Who never solved it is later than all others: none of b did, and one of a was as late.
    late = page.compare_with_first_method(
        {"first_solved": {"a": low, "b": {}}}, {"a": range(9), "b": range(9)}
    )
    assert late["first_solved", "b"].effect == pytest.approx(8.5 / 9)
    few = {"age": {"a": {0: 1.0, 1: 2.0}, "b": {0: 2.0, 1: 3.0}}}
    assert page.compare_with_first_method(few, seeds)["age", "b"].verdict == "not tested (n = 2)"


def test_no_text_of_a_record_becomes_markup(attacked, attack):
    found = Elements(attacked.read_text())
    for tag, attributes in found.elements:
        assert tag != "img" or attributes["src"].startswith("data:image/")
        assert not any(name.startswith("on") for name in attributes)
    assert attack in [cell.strip() for cell in found.cells]
    assert not re.search(r"<script[^>]*>document\.title", attacked.read_text())
