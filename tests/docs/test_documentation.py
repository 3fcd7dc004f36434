"""The documentation: the tutorial, the gallery, its versions and its pages."""

import json
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from searches import HOST

import brns
from brns.pictures import FIGURES
from brns.settings.parts import parts

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


def test_the_gallery_shows_every_figure_and_every_world():
    page = runpy.run_path(str(DOCS / "gallery.py"))["page"]()
    for heading in (*(figure.title for figure in FIGURES.values()), *parts("world")):
        assert f"\n### {heading}\n" in page
    shown = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert len(shown) >= 14 + 6
    assert all((DOCS / picture).read_bytes()[:4] == b"\x89PNG" for picture in shown)


def test_what_to_cite_has_this_version():
    assert f"version = {{{brns.__version__}}}" in (DOCS / "citing.rst").read_text()
    assert f"\nversion: {brns.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.slow
def test_the_tutorial_says_what_it_shows(tmp_path):
    out = tmp_path / "tutorial.ipynb"
    subprocess.run(
        [sys.executable, DOCS / "notebook.py", DOCS / "tutorial.py", out], check=True, cwd=tmp_path
    )
    cells = json.loads(out.read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    printed = "".join(output.get("text", "") for output in outputs)
    assert "generations on disk: 0 to 30" in printed
    shares = [int(share) for share in re.findall(r"(\d+)% of the cells", printed)]
    assert shares == sorted(shares)
    assert shares[-1] > shares[0]
    then, now = map(float, re.search(r"founders: (\S+) at first, (\S+) after", printed).groups())
    assert now < then
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The documentation as HTML, built without a warning."""
    folder = tmp_path_factory.mktemp("built")
    places = ["-d", folder / "trees", "docs", folder / "html"]
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", *places], cwd=ROOT, check=True)
    return folder / "html"


@pytest.mark.slow
def test_it_builds_without_a_warning_and_needs_no_network(built):
    pages = "".join(page.read_text() for page in built.rglob("*.html"))
    assert "<math" in pages
    assert not re.findall(r"<(?:script|img|link)[^>]*(?:src|href)=\"(?:https?:)?//", pages)
    assert len(list((built / "_images").glob("tutorial-*.png"))) == 3


@pytest.mark.browser
def test_no_line_of_code_is_cut_off_and_every_block_can_be_copied(browser, built):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    pages = "tutorial simulators extending encoders commandline quickstart cluster"
    for page in pages.split():
        tab.goto((built / f"{page}.html").as_uri())
        wide = (
            "[...document.querySelectorAll('pre')].filter((e) => e.scrollWidth > e.clientWidth + "
            "1).length"
        )
        assert tab.evaluate(wide) == 0, page
        blocks = tab.locator(".highlight pre").count()
        assert blocks > 0
        assert tab.locator(".highlight .copy").count() == blocks


class Logged:
    """Stands in for the loggers of other packages: what was logged, by step."""

    def __init__(self):
        self.rows, self.folders = {}, []

    def __call__(self, *_, **__):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def log(self, row, step):
        self.rows.setdefault(step, {}).update(row)

    def log_param(self, name, value):
        assert (name, value[:13]) == ("search", "NoveltySearch")

    def add_scalar(self, name, value, step):
        self.log({name: value}, step)

    def log_artifacts(self, folder):
        self.folders.append(Path(folder) / "progress.csv")

    log_metrics = log
    init = start_run = SummaryWriter = __call__


@pytest.mark.parametrize("package", ["wandb", "mlflow", "tensorboardX"])
def test_the_examples_of_loggers_log_every_generation(package, tmp_path, monkeypatch):
    """With stand-ins, and a search that takes milliseconds."""
    blocks = re.findall(
        r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", (DOCS / "python.rst").read_text()
    )
    (example,) = [block for block in blocks if re.search(rf"(import|from) {package}", block)]
    logged = Logged()
    monkeypatch.setitem(sys.modules, package, logged)
    monkeypatch.chdir(tmp_path)
    exec(textwrap.dedent(example), {"brns": brns, "search": HOST})
    assert sorted(logged.rows) == list(range(21))
    row = logged.rows[20]
    assert row["evaluations"] == 8 + 20 * 6
    assert 0 < row["coverage_survivors"] <= row["coverage_evaluated"]
    assert all(folder.exists() for folder in logged.folders)


def test_the_readme_has_the_numbers_of_the_suite():
    suite = (ROOT / "results" / "worlds.md").read_text()
    readme = (ROOT / "README.md").read_text()
    for name in ("counts", "exact", "recognition", "paper"):
        share = re.findall(rf"^\| {name} \| [\d.]+% \| ([\d.]+) ", suite, re.M)[0]
        assert re.search(rf"\b{re.escape(share)}\b", readme), (name, share)
