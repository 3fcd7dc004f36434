"""The documentation: the tutorial, the gallery, its versions and its pages."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from searches import HOST
from test_examples import PAGES, blocks

import brns
from brns.pictures import FIGURES
from brns.settings.parts import parts

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


def test_the_gallery_shows_every_figure_and_every_task():
    page = runpy.run_path(str(DOCS / "gallery.py"))["page"]()
    for heading in (*(figure.title for figure in FIGURES.values()), *parts("task")):
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


@pytest.mark.slow
def test_it_builds_without_a_warning_and_needs_no_network(tmp_path):
    built = tmp_path / "html"
    places = ["-d", tmp_path / "trees", "docs", built]
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", *places], cwd=ROOT, check=True)
    pages = "".join(page.read_text() for page in built.rglob("*.html"))
    assert "<math" in pages
    assert not re.findall(r"<(?:script|img|link)[^>]*(?:src|href)=\"(?:https?:)?//", pages)
    assert len(list((built / "_images").glob("tutorial-*.png"))) == 3


LOGS = {
    "wandb": "init().__enter__().log",
    "mlflow": "log_metrics",
    "tensorboardX": "SummaryWriter().__enter__().add_scalar",
}
"""what the examples call, by package"""


@pytest.mark.slow
@pytest.mark.parametrize("package", LOGS)
def test_the_examples_of_loggers_log_every_generation(package, tmp_path, monkeypatch):
    """With stand-ins for the packages, and a search that takes milliseconds."""
    examples = blocks(PAGES["python"], "python")
    (example,) = [block for block in examples if re.search(rf"(import|from) {package}", block)]
    logged = MagicMock()
    monkeypatch.setitem(sys.modules, package, logged)
    monkeypatch.chdir(tmp_path)
    exec(example, {"brns": brns, "search": HOST})
    calls = [call for call in logged.mock_calls if call[0] == LOGS[package]]
    steps = [call.kwargs.get("step", call.args[-1]) for call in calls]
    assert sorted(set(steps)) == list(range(21))
    last = str([call.args for call, step in zip(calls, steps, strict=True) if step == 20])
    assert re.search(rf"'evaluations'[:,] {8 + 20 * 6}\b", last)
    for call in logged.log_artifacts.mock_calls:
        assert Path(call.args[0], "progress.csv").exists()


def test_the_readme_has_the_numbers_of_the_suite():
    suite = (ROOT / "results" / "worlds.md").read_text()
    readme = (ROOT / "README.md").read_text()
    for name in ("counts", "exact", "recognition", "paper"):
        share = re.findall(rf"^\| {name} \| [\d.]+% \| ([\d.]+) ", suite, re.M)[0]
        assert re.search(rf"\b{re.escape(share)}\b", readme), (name, share)
