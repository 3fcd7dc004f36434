"""The report in a real browser: `make test-browser`."""

import re
from pathlib import Path

import numpy as np
import pytest

from brns import AntMaze, ArchiveKNN, NoveltySearch
from brns.pictures.report import page as report
from brns.runs.loop import run

CHROMIUM = "/usr/bin/chromium"


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
