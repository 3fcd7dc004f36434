"""The report in a real browser: `make test-browser`."""

import re

import numpy as np
import pytest

from brns.pictures import report

pytestmark = pytest.mark.browser


def opened(browser, path, theme="light"):
    """The page, once it is drawn, and what the console and the network had to say."""
    said = []
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    tab.set_default_timeout(120_000)
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on(
        "request",
        lambda request: said.append(request.url) if request.url.startswith("http") else None,
    )
    tab.goto(path.as_uri())
    tab.wait_for_selector("#view .slider-rail-rect")
    tab.locator("#view").scroll_into_view_if_needed()
    return tab, said


def slide(tab, part):
    """The slider to a part of its length, and the generation that then stands there."""
    box = tab.locator("#view .slider-rail-touch-rect").bounding_box()
    tab.mouse.click(box["x"] + box["width"] * part, box["y"] + box["height"] / 2)
    tab.wait_for_timeout(300)
    return int(re.search(r"\d+", tab.locator("#view .slider-label").first.text_content())[0])


# Where the population stands, read back from the chart.
PLACES = """() => {
    const trace = document.querySelector('#view').calcdata.map((c) => c[0].trace)
        .find((t) => t.type === 'scatter' && t.customdata);
    return [Array.from(trace._x || trace.x), trace.customdata];
}"""


def test_the_slider_moves_the_points(browser, maze, folder):
    tab, said = opened(browser, report.write([maze], folder / "maze.html"))
    for part in (1.0, 0.0, 0.5):
        generation = slide(tab, part)
        assert generation == round(6 * part)
        x, told = tab.evaluate(PLACES)
        np.testing.assert_allclose(
            x, maze.column("survivors.descriptor", [generation])[0][:, 0], rtol=1e-6
        )
        assert [row[0] for row in told] == maze.column("survivors.id", [generation])[0].tolist()
    assert tab.locator("#view .scatterlayer .trace").first.locator("path.point").count() == 20
    tab.locator("#view .updatemenu-button", has_text="Play").click()
    tab.locator("#view .slider-label", has_text=re.compile("^generation 6$")).wait_for(
        timeout=30_000
    )
    assert said == []


def test_pointing_tells_who_it_is(browser, page):
    tab, said = opened(browser, page)
    point = (
        tab.locator("#view .scatterlayer .trace").last.locator("path.point").first.bounding_box()
    )
    tab.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    tab.wait_for_timeout(300)
    text = tab.locator("#view .hoverlayer").text_content()
    for words in ("individual ", "born in ", "age ", "parent ", "novelty ", "solves the task: "):
        assert words in text
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
    ".soft",
    "td.number",
    ".spread",
    "td.meaning",
    "figcaption",
    "summary",
    ".marks li",
    "tr.differs td",
)
DRAWN = ("#view .xtick text", "#view .slider-label")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_are_legible(browser, page, theme):
    tab, _ = opened(browser, page, theme)
    for selector in (*TEXTS, *DRAWN):
        assert tab.evaluate(CONTRAST, selector) >= 4.5, selector


def test_an_attack_stays_text(browser, attacked):
    tab, said = opened(browser, attacked)
    assert tab.title() == "Novelty search in the Identity"
    assert said == []
