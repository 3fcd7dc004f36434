"""Wild settings; and that every fault which docs/reliability.rst names has its test."""

import re
from pathlib import Path

import typer
from hypothesis import example, given
from hypothesis import strategies as st
from small import WILD
from typer.testing import CliRunner

import brns
from brns import BehaviorRecognition, NoveltySearch, PolynomialMutation
from brns.cli.commands import app
from brns.settings.configuration import find_setting_types_and_meanings


def test_every_fault_that_the_documentation_names_has_its_test():
    tests = Path(__file__).parent.parent
    named = re.findall(r"`(test_\w+)", (tests.parent / "docs" / "reliability.rst").read_text())
    code = "".join(file.read_text() for file in tests.rglob("test_*.py"))
    assert len(named) > 20
    assert [name for name in named if f"def {name}" not in code] == []


SETTINGS = [
    f"{prefix}{setting}"
    for prefix, part in [
        ("", NoveltySearch),
        ("task.", brns.DeceptiveMaze),
        ("task.", brns.AntMaze),
        ("estimator.", BehaviorRecognition),
        ("estimator.", brns.ArchiveKNN),
        ("mutate.", PolynomialMutation),
        ("select.", brns.Elitist),
    ]
    for setting in find_setting_types_and_meanings(part)
]
WORDS = "0 -1 1 5 0.5 1e400 nan -inf none true [] 1979-05-27"
VALUES = st.one_of(
    st.sampled_from([*WORDS.split(), "[1, 2]", ""]),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=20),
)
CHANGES = st.one_of(
    st.builds("{}={}".format, st.sampled_from(SETTINGS), VALUES),
    st.builds("{}={}".format, st.text(max_size=10), VALUES),
    st.text(max_size=30),
)


@WILD
@given(
    experiment=st.sampled_from(["maze", "ant"]),
    estimator=st.sampled_from(["recognition", "archive", "population", "counts"]),
    changes=st.lists(CHANGES, max_size=4),
)
@example(experiment="maze", estimator="recognition", changes=["population_size=1979-05-27"])
def test_whatever_is_set_ends_in_a_run_or_in_one_message(
    monkeypatch, experiment, estimator, changes
):
    """Up to where the run would start; `main` makes exit status 2 of a `ValueError`."""

    def started(*_, **__):
        raise typer.Exit(0)

    monkeypatch.setattr("brns.runs.loop.run", started)
    settings = [f"--set={change}" for change in changes]
    command = ["run", experiment, "--estimator", estimator, *settings]
    result = CliRunner().invoke(app, command)
    if isinstance(result.exception, ValueError):
        assert str(result.exception)
    else:
        assert result.exit_code in (0, 2), result.exception
        assert result.exception is None or isinstance(result.exception, SystemExit)
