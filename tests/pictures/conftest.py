"""Runs for all that only read: two methods in a plane with fitness, and the maze; made once."""

import json

import pytest
from files import copy_run, rewrite
from matplotlib.figure import Figure
from searches import run_known, search
from shell import SHORT

from brns import ArchiveKNN, PopulationKNN, Record
from brns.experiments import make_search
from brns.experiments.overrides import apply_overrides
from brns.pictures import FIGURES, report
from brns.runs.loop import run


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def near(folder):
    return run_known(search(estimator=PopulationKNN(k=3)), 6, folder / "near", [0, 1])


@pytest.fixture(scope="session")
def archived(folder):
    estimator = ArchiveKNN(k=3, additions=2, capacity=64)
    return run_known(search(estimator=estimator), 6, folder / "archive", [0, 1])


@pytest.fixture(scope="session")
def maze(folder):
    """Every second state of the search that the command line's tests compile, too."""
    search = apply_overrides(make_search("maze"), SHORT[1::2])
    (record,) = run(search, 6, out=folder / "maze", checkpoint_every=2)
    return record


@pytest.fixture(scope="session")
def page(near, archived, folder):
    """A report of a figure of each kind, and of one that cannot be drawn."""
    with pytest.MonkeyPatch.context() as patch:
        drawn = ("behaviors", "age", "q", "eta", "signature")
        patch.setattr(report.page, "FIGURES", {name: FIGURES[name] for name in drawn})
        return report.write_report([*near, *archived], folder / "report.html")


@pytest.fixture(scope="session")
def attack():
    owned = "document.title='owned'"
    return (
        f'</script><script>{owned}</script><img src=x onerror="{owned}">{{{{ plotly }}}}$\\frac{{'
    )


@pytest.fixture(scope="session")
def attacked(attack, near, archived, folder):
    """A report of two runs whose every text is an attempt to break out of it."""
    within = folder / "<img src=y onerror=alert(1)>"
    made = []
    for place, record in enumerate([near[0], archived[0]]):
        copy = copy_run(record, within / str(place), 6 - place)
        facts = json.loads((copy.path / "run.json").read_text())
        facts["command"] = facts["commit"] = facts["versions"][attack] = attack
        facts["experiment"]["estimator"]["name"] = attack
        facts["experiment"]["estimator"]["odd"] = f"{attack}{place}"
        facts["experiment"][attack] = attack
        rewrite(copy.path, facts)
        made.append(Record(copy.path))
        made[-1].search = record.search
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report.page, "FIGURES", {name: FIGURES[name] for name in ("age", "archive")})
        return report.write_report(made, folder / "attacked.html")


@pytest.fixture
def ax():
    return Figure().subplots()
