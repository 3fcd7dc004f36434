"""The report's runs and pages, for its text and for a browser."""

import json

import pytest

from brns import ArchiveKNN, BehaviorRecognition, DeceptiveMaze, NoveltySearch, Record
from brns.pictures.report import page as report
from brns.runs.loop import run
from brns.runs.record import records


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


@pytest.fixture(scope="module")
def attack():
    owned = "document.title='owned'"
    return f'</script><script>{owned}</script><img src=x onerror="{owned}">{{{{plotly}}}}$\\frac{{'


@pytest.fixture(scope="module")
def attacked(runs, attack, tmp_path_factory):
    """A report of two runs whose every text is an attempt to break out of it."""
    folder = tmp_path_factory.mktemp("attack") / "<img src=y onerror=alert(1)>"
    made = []
    for place, record in enumerate(runs[::2]):
        copy = folder / str(place)
        (folder / str(place)).mkdir(parents=True)
        for part in ("generations", "states"):
            (copy / part).symlink_to(record.path / part)
        facts = json.loads((record.path / "run.json").read_text())
        facts["command"] = facts["commit"] = facts["versions"][attack] = attack
        facts["experiment"]["estimator"]["name"] = attack
        facts["experiment"]["estimator"]["odd"] = f"{attack}{place}"
        facts["experiment"][attack] = attack
        (copy / "run.json").write_text(json.dumps(facts))
        bad = Record(copy)
        bad.search = record.search
        made.append(bad)
    return report.write(made, folder.parent / "attacked.html")
