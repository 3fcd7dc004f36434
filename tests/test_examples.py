"""Every example, and the code of the README and the documentation, held against the text."""

import contextlib
import importlib.util
import re
import shlex
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from unittest.mock import MagicMock

import pytest

import brns

ROOT = Path(__file__).parent.parent
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}
PLAYGROUND = importlib.util.find_spec("mujoco_playground")
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs").glob("*.rst"))}


def numbers(pattern, output):
    return [float(number) for number in re.findall(pattern, output)]


def growing(output, folder, first, last):
    """Shares of a grid that were visited, in percent."""
    shares = numbers(r"(\d+)% of a 20 x 20 grid", output)
    assert shares == sorted(shares)
    assert shares[0] < first < last < shares[-1]


pyribs_novelty = partial(growing, first=10, last=50)
deap_loop = partial(growing, first=5, last=40)
neat_loop = partial(growing, first=30, last=60)
gpu_simulator = partial(growing, first=85, last=90)


def numpy_user(output, folder):
    rows = [map(float, line.split()) for line in output.splitlines()[1:]]
    batches, left, right = zip(*rows, strict=True)
    assert batches == (0, 10, 50, 199)
    assert left[0] == right[0] == 1  # nothing is known
    assert left[-1] < left[1] / 5 < left[0] / 15  # the half that is shown grows familiar
    # the other hardly does, nor does it get more novel
    assert 0.2 < right[-1] < right[1] < right[0]


def text_filter(output, folder):
    names = ("sentences", "topics", "of the largest")
    sentences, topics, largest = (numbers(rf"(\d+) {name}", output) for name in names)
    assert sentences[1] == sentences[2] < 700 < sentences[0] == 2000
    assert topics[2] < topics[1] == topics[0] == 40
    assert largest[1] < largest[2] / 2


def novelty_reward(output, folder):
    own, novel = numbers(r": (\d+) of 400", output)
    assert own < 60 < 180 < novel


def image_descriptors(output, folder):
    seen, *unseen = numbers(r"median novelty ([\d.]+)", output)
    assert len(unseen) == 2
    assert min(unseen) > 1.2 * seen
    assert is_png(folder / "image_descriptors.png")


def sequence_descriptors(output, folder):
    medians = numbers(r"median novelty ([\d.]+)", output)
    assert len(medians) == 7
    assert all(a < b for a, b in pairwise(medians))
    assert is_png(folder / "sequence_descriptors.png")


def qdax_scoring(output, folder):
    shares = numbers(r"(\d+)% of a 20 x 20 grid", output)
    assert len(shares) == 3
    assert min(shares) > 50


def islands(output, folder):
    sharing, apart, one = numbers(r"(?:sharing|apart|one search): (\d+) cells", output)
    assert min(sharing, apart, one) > 450  # of 533
    assert sharing > apart


def own_estimator(output, folder):
    assert "(21, 100, 2)" in output
    assert (folder / "runs/own-estimator/run.json").exists()


def own_task(output, folder):
    arms = numbers(r"(\d+) arms reach the corner", output)
    assert len(arms) == 3
    assert min(arms) > 0


def gymnasium_task(output, folder):
    tops = numbers(r"(\d+) reached the top", output)
    assert len(tops) == 10
    assert tops == sorted(tops)
    assert tops[-1] > 0


def is_png(path):
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path):
    check = globals().get(name)
    assert check, f"examples/{name}.py needs a function of its name here that checks its output"
    check(run(EXAMPLES[name], tmp_path), tmp_path)


LOGGERS = ("wandb", "mlflow", "tensorboardX")
"""packages whose examples run with stand-ins, in tests/docs"""


@pytest.mark.slow
def test_readme(tmp_path):
    text = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    script = tmp_path / "readme.py"
    script.write_text(block + "\nprint(len(record.generations), len(solutions.genotype) > 0)")
    assert "401 True" in run(script, tmp_path)
    assert is_png(tmp_path / "overview.png")


WITH_PYTHON = {name for name, text in PAGES.items() if ".. code-block:: python" in text}


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(WITH_PYTHON - {"cluster"}))  # which needs one
def test_python_of_the_documentation(page, tmp_path):
    """The blocks of a page are one script, and what a comment calls a shape is one."""
    missing = ("optuna", *LOGGERS) if PLAYGROUND else ("optuna", "mujoco_playground", *LOGGERS)
    known = []
    for block in blocks(PAGES[page], "python"):
        if not any(package in block for package in missing):
            known.append(block)
    lines = "\n".join(known).splitlines()
    checked = [re.sub(r"^(\S.*\.shape)  # (\(.*?\)).*", r"assert \1 == \2", line) for line in lines]
    script = tmp_path / "page.py"
    script.write_text("\n".join(checked))
    run(script, tmp_path)


class Pruned(Exception):
    pass


@pytest.mark.slow
def test_a_sweep_of_the_documentation_prunes(tmp_path, monkeypatch):
    """With a stand-in for Optuna that prunes its second trial at once."""
    trials = []

    def optimize(objective, n_trials):
        for number in range(n_trials):
            trial = MagicMock(number=number)
            trial.suggest_float.return_value = 1.0 + number
            trial.should_prune.return_value = number == 1
            trials.append(trial)
            with contextlib.suppress(Pruned):
                assert 0 < objective(trial) < 1

    optuna = MagicMock(TrialPruned=Pruned)
    optuna.create_study.return_value.optimize = optimize
    monkeypatch.setitem(sys.modules, "optuna", optuna)
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks(PAGES["python"], "python") if "optuna" in block)
    exec(block, {"brns": brns})
    assert [trial.report.call_count for trial in trials] == [41, 1, 41]


@pytest.mark.slow
def test_commands_of_the_documentation(tmp_path):
    lines = "\n".join(blocks(PAGES["commandline"], "console")).splitlines()
    commands = [line.removeprefix("$ brns ") for line in lines if line.startswith("$ brns ")]
    assert len(commands) > 8
    for command in commands:
        run("-m", tmp_path, "brns", *shlex.split(command))
    for picture in ("coverage.png", "map.png", "runs/maze-counts-seed0/overview.png"):
        assert is_png(tmp_path / picture)
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "short.gif").read_bytes()[:3] == b"GIF"


def blocks(text, language):
    """The code blocks of a page in reStructuredText."""
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", text, re.MULTILINE)
    return [re.sub(r"^   ", "", block, flags=re.MULTILINE) for block in found]


def run(script, folder, *arguments):
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done.stdout
