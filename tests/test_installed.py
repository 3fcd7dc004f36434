"""The package as users have it: built, and with the oldest libraries that it declares."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).parent / "uv"
SEARCH = """
import sys

import jax

import brns
from brns.pictures import draw

maze, novelty = brns.DeceptiveMaze(steps=20), brns.PopulationKNN(k=3)
search = brns.NoveltySearch(maze, novelty, population_size=6, offspring_size=5)
brns.run(search, 2, out="run")
(record,) = brns.resume("run", 3)
assert record.generations == [0, 1, 2, 3]
state = search.init(jax.random.key(0))
population = state.population
assert novelty.score(state.estimator, population.descriptor, population).shape == (6,)
brns.check_estimator(brns.VisitCounts(grids=8))
draw("coverage", [record]).savefig("coverage.png")
assert "beartype" not in sys.modules
"""


@pytest.mark.slow
def test_with_the_lowest_version_of_every_library_that_is_declared(tmp_path):
    """Needs a package index, as the next does."""
    package = f"{ROOT}[ant,gymnasium,report,pandas]"
    python = install_and_use(tmp_path, package, "--resolution", "lowest-direct")
    ant = "import brns; brns.check_task(brns.AntMaze(steps=16), n=2)"
    subprocess.run([python, "-c", ant], cwd=tmp_path, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_installs_and_runs_outside_of_a_checkout(kind, tmp_path):
    built = tmp_path / "built"
    subprocess.run([UV, "build", "-q", f"--{kind}", "--out-dir", built, ROOT], check=True)
    (package,) = (file for file in built.iterdir() if file.suffix in (".whl", ".gz"))
    python = install_and_use(tmp_path, f"brns[report] @ {package.as_uri()}")
    where = [python, "-c", "import brns; print(brns.__file__)"]
    assert str(tmp_path) in subprocess.check_output(where, cwd=tmp_path, text=True)


def install_and_use(folder, package, *options):
    """The Python of a new environment with the package, after a search, all around it and the
    command. The page's scripts are in the package."""
    python = folder / "environment/bin/python"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, python.parent.parent], check=True)
    subprocess.run([UV, "pip", "install", "-q", "--python", python, *options, package], check=True)
    environment = {
        name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"
    }
    subprocess.run([python, "-c", SEARCH], cwd=folder, env=environment, check=True, timeout=300)
    assert (folder / "coverage.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    for command in ("--version", "show run", "report run --out report.html"):
        subprocess.run([python.parent / "brns", *command.split()], cwd=folder, check=True)
    assert (folder / "report.html").stat().st_size > 10_000
    return python
