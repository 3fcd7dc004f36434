"""The report: what it says, that nothing in it comes from elsewhere, and how it behaves in a real browser."""

import base64
import html.parser
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from brns import AntMaze, ArchiveKNN, BehaviorRecognition, DeceptiveMaze, NoveltySearch, Record
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
from brns.runs.loop import run
from brns.runs.record import records

CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two methods, two seeds each, and the states of every second generation."""
    folder = tmp_path_factory.mktemp("runs")
    recognition, archive = BehaviorRecognition(depths=(0, 1)), ArchiveKNN(k=3, capacity=64)
    for name, estimator in [("recognition", recognition), ("archive", archive)]:
        search = NoveltySearch(DeceptiveMaze(steps=50), estimator, population_size=10, offspring_size=10)
        run(search, 6, out=folder / name, seeds=[0, 1], keep_every=2)
    return [*records(folder / "recognition"), *records(folder / "archive")]


def counted(steps, title, total):
    """A progress that is told the right number of steps."""
    steps = list(steps)
    assert len(steps) == total
    return steps


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    return report.write(runs, tmp_path_factory.mktemp("report") / "report.html", track=counted)


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
    assert not table._tests({key: v[:3] for key, v in values.items()}, ["a", "b"])  # 2 / C(6, 3) = 0.1


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


def test_without_plotly_the_extra_is_named_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"pip install 'brns\[report\]'"):
        report.write([], tmp_path / "report.html")


ATTACK = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">{{plotly}}$\\frac{"
)


@pytest.fixture(scope="module")
def attacked(runs, tmp_path_factory):
    """A report of two runs whose every text is an attempt to break out of it."""
    folder = tmp_path_factory.mktemp("attack") / "<img src=y onerror=alert(1)>"
    made = []
    for place, record in enumerate(runs[::2]):
        copy = folder / str(place)
        (folder / str(place)).mkdir(parents=True)
        for part in ("generations", "states"):
            (copy / part).symlink_to(record.path / part)
        facts = json.loads((record.path / "run.json").read_text())
        facts["command"] = facts["commit"] = facts["versions"][ATTACK] = ATTACK
        facts["experiment"]["estimator"]["name"] = ATTACK
        facts["experiment"]["estimator"]["odd"] = f"{ATTACK}{place}"
        facts["experiment"][ATTACK] = ATTACK
        (copy / "run.json").write_text(json.dumps(facts))
        bad = Record(copy)
        bad.search = record.search
        made.append(bad)
    return report.write(made, folder.parent / "attacked.html")


def test_no_text_of_a_record_becomes_markup(page, attacked):
    def scripts_and_pictures(path):
        return sum(tag in ("script", "img") for tag, _ in Elements(path.read_text()).elements)

    assert scripts_and_pictures(attacked) == scripts_and_pictures(page)
    assert not any(
        name.startswith("on") and tag != "button"
        for tag, attributes in Elements(attacked.read_text()).elements
        for name in attributes
    )
    assert ATTACK in Elements(attacked.read_text()).cells


@pytest.fixture(scope="module")
def browser():
    if not Path(CHROMIUM).exists():
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with playwright.sync_playwright() as engines:
        browser = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def opened(browser, path, theme="light"):
    """The page, once it is drawn, and what the console and the network had to say."""
    said = []
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    tab.goto(path.as_uri())
    tab.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    return tab, said


def expect(tab, selector, text):
    """Wait until an element holds that text."""
    tab.locator(selector, has_text=re.compile(f"^{text}$")).wait_for(timeout=30_000)


# Where the population stands in the first panel, read back from the chart.
PLACES = """() => {
    const chart = document.querySelector('.plot');
    const points = chart.data.find((trace) => trace.customdata);
    return [Array.from(points.x), points.customdata];
}"""


@pytest.mark.browser
def test_it_opens_without_errors_and_the_slider_moves_the_points(browser, runs, page):
    tab, said = opened(browser, page)
    for generation in (6, 0, 3):
        tab.locator("#generation").fill(str(generation))
        expect(tab, "#shown", f"generation {generation}")
        x, details = tab.evaluate(PLACES)
        np.testing.assert_allclose(x, runs[0].column("survivors.descriptor", [generation])[0][:, 0], rtol=1e-6)
        assert [row[4] for row in details] == runs[0].column("survivors.id", [generation])[0].tolist()
        assert {row[0] for row in details} == {generation}
        drawn = tab.locator(".plot").first.locator(".scatterlayer .trace").first.locator("path.point")
        assert drawn.count() == 10
    state = tab.locator(".state").first.text_content()
    assert state == "population of generation 3; novelty after generation 2"
    assert said == []


@pytest.mark.browser
def test_pointing_at_an_individual_tells_who_it_is(browser, runs, page):
    tab, _ = opened(browser, page)
    tab.evaluate("Plotly.Fx.hover(document.querySelector('.plot'), [{curveNumber: 1, pointNumber: 0}])")
    text = tab.locator(".plot").first.locator(".hoverlayer").text_content()
    last = runs[0].generations[-1]
    number, born, parent = (runs[0].column(f"survivors.{c}", [last])[0][0] for c in ("id", "born", "parent"))
    expected = [f"individual {number}", f"generation {last}", f"age {last - born}", "novelty "]
    expected.append(f"parent {parent if parent >= 0 else 'none'}")
    for words in expected:
        assert words in text


@pytest.mark.browser
def test_pointing_at_a_path_makes_it_stand_out(browser, tmp_path):
    pytest.importorskip("mujoco")
    search = NoveltySearch(AntMaze(steps=32), ArchiveKNN(k=3), population_size=4, offspring_size=4)
    (record,) = run(search, 2, out=tmp_path / "ant")
    tab, said = opened(browser, report.write([record], tmp_path / "report.html"))
    pointed = "{points: [{curveNumber: 2, pointNumber: 3}]}"
    tab.evaluate(f"document.querySelector('.plot').emit('plotly_hover', {pointed})")  # as a mouse's hover does
    path = tab.evaluate("[document.querySelector('.plot').data[1]].map((way) => [way.x, way.y])[0]")
    behavior = record.column("survivors.descriptor", [2])[0][3].reshape(16, 2)
    np.testing.assert_allclose(np.transpose(path), [[0, -24], *behavior], rtol=1e-6)
    tab.evaluate("document.querySelector('.plot').emit('plotly_unhover', {})")
    assert tab.evaluate("document.querySelector('.plot').data[1].x.length") == 0
    assert said == []


@pytest.mark.browser
def test_another_seed_and_play(browser, runs, page):
    tab, said = opened(browser, page)
    tab.locator("select").first.select_option("1")
    x, _ = tab.evaluate(PLACES)
    np.testing.assert_allclose(x, runs[1].column("survivors.descriptor", [6])[0][:, 0], rtol=1e-6)
    tab.locator("#play").click()
    expect(tab, "#play", "Pause")
    expect(tab, "#shown", "generation 6")
    expect(tab, "#play", "Play")
    assert said == []


@pytest.mark.browser
def test_the_slider_stays_in_view_and_a_curve_tells_its_values(browser, page):
    tab, said = opened(browser, page)
    tab.locator(".state").last.scroll_into_view_if_needed()
    assert 0 <= tab.locator("#generation").bounding_box()["y"] < 60
    sizes = tab.evaluate("[...document.querySelectorAll('.plot .bglayer, .plot .bg')].map((e) => e.getBBox().width)")
    assert len({round(size) for size in sizes if size}) == 1  # maps of one size, whatever stands beside them
    curve = tab.locator("#figure-age svg")
    curve.scroll_into_view_if_needed()
    box = curve.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    text = tab.locator(".tip").text_content()
    assert text.startswith("generation ")
    assert "archive k-NN (2 seeds)" in text
    tab.mouse.move(0, 0)
    assert tab.locator(".tip").is_hidden()
    assert said == []


# The WCAG contrast of an element's text with the background that it stands on.
CONTRAST = """(selector) => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const element = document.querySelector(selector);
    const style = getComputedStyle(element);
    const ink = channels(element instanceof SVGElement ? style.fill : style.color);
    let under = element, paper = [0, 0, 0, 0];
    while (under && (paper[3] ?? 1) === 0) {
        paper = channels(getComputedStyle(under).backgroundColor);
        under = under.parentElement;
    }
    const [light, dark] = [luminance(ink), luminance(paper)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
}"""
TEXTS = (
    "h1",
    ".lead",
    "td.number",
    ".spread",
    "td.meaning",
    "figcaption",
    "summary",
    "button",
    ".state",
    ".colours li",
    "tr.differs td",
)
DRAWN = ("#figure-age svg text", "#figure-maze svg text", ".plot .xtick text", ".plot .xtitle")


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_are_legible(browser, page, theme):
    tab, _ = opened(browser, page, theme)
    for _ in range(2):  # As the system asks, and then the other by the button.
        for selector in (*TEXTS, *DRAWN):
            assert tab.evaluate(CONTRAST, selector) >= 4.5, (theme, selector)
        before = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        tab.locator("#theme").click()
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != before


@pytest.mark.browser
def test_an_attack_stays_text(browser, attacked):
    tab, said = opened(browser, attacked)
    assert tab.title() == "Novelty search in the deceptive maze"
    assert said == []
