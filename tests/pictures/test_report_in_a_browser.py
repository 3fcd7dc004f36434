"""The report in a real browser: `make test-browser`."""

import re

import numpy as np
import pytest

from brns.pictures import report

pytestmark = pytest.mark.browser


def opened(browser, path):
    """The page, once it is drawn, and what the console and the network had to say."""
    said = []
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(120_000)
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    fetched = re.compile("http")
    tab.on("request", lambda request: fetched.match(request.url) and said.append(request.url))
    tab.goto(path.as_uri())
    tab.locator("#told", has_text="generation").wait_for()
    tab.locator("#view").scroll_into_view_if_needed()
    return tab, said


def slide(tab, part):
    """The slider to a part of its length, and the generation that then stands there."""
    box = tab.locator("#generation").bounding_box()
    tab.mouse.click(box["x"] + box["width"] * part, box["y"] + box["height"] / 2)
    return generation(tab)


def generation(tab):
    return int(re.search(r"\d+", tab.locator("#told").text_content())[0])


# The colour of the panel where a behavior lies: its axes begin 52 pixels from the left and end 18
# from the right.
COLOR = """(place) => {
    const canvas = document.querySelector('#view canvas');
    const scene = JSON.parse(document.querySelector('#view-data').textContent).scene;
    const share = place.map((value, k) => (value - scene.low[k]) / (scene.high[k] - scene.low[k]));
    const size = [canvas.clientWidth - 70, canvas.clientHeight - 48];
    const up = scene.down ? share[1] : 1 - share[1];
    const [x, y] = [52 + share[0] * size[0], 8 + up * size[1]];
    return Array.from(canvas.getContext('2d').getImageData(x, y, 1, 1).data);
}"""


def test_the_slider_moves_the_points(browser, maze, folder):
    tab, said = opened(browser, report.write_report([maze], folder / "maze.html"))
    for part in (0.99, 0.01, 0.5):
        now = slide(tab, part)
        assert now == round(6 * part)
        assert said == []
        born = maze.column("survivors.born", [now])[0]
        places = maze.column("survivors.descriptor", [now])[0].tolist()
        found = [tab.evaluate(COLOR, place) for place in places]
        said.clear()  # it advises against reading pixels
        expected = [[255, 159, 28, 255] if new else [255] * 4 for new in born == now]
        right = [color == wanted for color, wanted in zip(found, expected, strict=True)]
        assert np.mean(right) > 0.5  # of points that lie on each other the later is seen


def test_it_plays_pauses_and_is_moved_by_keys(browser, page):
    tab, said = opened(browser, page)
    play = tab.locator("#play")
    tab.select_option("#speed", "20")
    play.click()
    assert play.text_content() == "Pause"
    tab.locator("#play", has_text="Play").wait_for()
    assert generation(tab) == 6  # the end
    tab.select_option("#speed", "1")  # so that a slow machine pauses it before the end
    play.click()
    play.click()
    assert play.text_content() == "Play"
    paused = generation(tab)
    tab.wait_for_timeout(300)
    assert generation(tab) == paused
    slide(tab, 0.5)
    for key, expected in (("ArrowRight", 4), ("ArrowLeft", 3), ("ArrowLeft", 2)):
        tab.keyboard.press(key)
        assert generation(tab) == expected
    tab.locator("#after").click()
    tab.keyboard.press("ArrowRight")
    assert generation(tab) == 4
    tab.locator("#watched").focus()
    tab.keyboard.press(" ")
    assert play.text_content() == "Pause"
    assert said == []


def test_pointing_tells_who_it_is(browser, page, near):
    tab, said = opened(browser, page)
    canvas = tab.locator("#view canvas").first
    box = canvas.bounding_box()
    x, y = (near[0].column("survivors.descriptor", [6])[0][0] / 600).tolist()
    inner = box["width"] - 70
    tab.mouse.move(box["x"] + 52 + x * inner, box["y"] + 8 + (1 - y) * (box["height"] - 48))
    text = tab.locator("#tip").text_content()
    for words in ("individual ", "born in ", "age ", "parent ", "novelty ", "solves the task: "):
        assert words in text
    assert said == []


def test_an_attack_stays_text(browser, attacked):
    tab, said = opened(browser, attacked)
    assert tab.title() == "Novelty search in the Identity"
    assert said == []
