"""Searches of a user's own on the command line."""

import os

import pytest
from shell import call

from brns import (
    NoveltySearch,
    PlanarArm,
    PopulationKNN,
    Record,
    Sharded,
    UniformResampling,
    VisitCounts,
    run,
)
from brns.cli.user_code import (
    load_first_record,
    load_or_make_user_search,
    load_records,
    make_search_from,
    open_workers,
)
from brns.tasks.chunked import unwrap_task

MODULE = '''
import signal

import equinox as eqx
from brns import Box, Evaluation, NoveltySearch, PolynomialMutation, PopulationKNN
from brns import Chunked, Processes, VisitCounts


class Lonely(eqx.Module):
    genes: int = 5
    """how many genes"""
    traceable = False

    @property
    def genotype_space(self):
        return Box([-1.0] * self.genes, [1.0] * self.genes)

    @property
    def behavior_space(self):
        return Box([-1.0, -1.0], [1.0, 1.0])

    def evaluate(self, genotypes, key):
        return Evaluation(genotypes[:, :2], genotypes[:, 2], genotypes[:, 2] > 2)


def search():
    return NoveltySearch(Lonely(), **SMALL)


class Stranger(Lonely):
    def evaluate(self, genotypes, key):
        raise KeyError("no such wall")


class Hasty(Lonely):
    def evaluate(self, genotypes, key):
        raise KeyboardInterrupt


class Terminated(Lonely):
    def evaluate(self, genotypes, key):
        signal.raise_signal(signal.SIGTERM)


class Mislabeled(Lonely):
    traceable = True

    def evaluate(self, genotypes, key):
        return Evaluation(genotypes[:, :2] * float(genotypes[0, 0]))


def stopped():
    raise KeyboardInterrupt


def needs(genes):
    return NoveltySearch(Lonely(genes))


SMALL = {"estimator": VisitCounts(grids=8), "mutate": PolynomialMutation(eta=2.0, rate=0.5)}
SMALL |= {"population_size": 8, "offspring_size": 6}
other = NoveltySearch(Lonely(3), **SMALL)
strange = NoveltySearch(Stranger(), **SMALL)
forgiving = NoveltySearch(Chunked(Lonely(), chunk=None, failures=0.5), **SMALL)
in_chunks = NoveltySearch(Chunked(Lonely(), chunk=2, failures=0.5, timeout=9.0), **SMALL)
spread = NoveltySearch(Processes(Lonely(), workers=1), **SMALL)
counts = PopulationKNN(k=2)
nothing = 5
'''
RUN = "runs/lonely_task-search-seed0"
SEARCH = ("--search", "lonely_task:search")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the module and a finished run of its search."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "lonely_task.py").write_text(MODULE)
    few = ("--generations", 2, "--checkpoint-every", 1)
    done = call("run", "lonely_task:search", *few, folder=folder)
    assert "kappa" in done.stdout  # the run's end knows the search
    return folder


@pytest.mark.slow
def test_an_own_run_is_shown_with_and_without_its_search(folder):
    picture = folder / RUN / "overview.png"
    before = picture.read_bytes()
    alone = call("show", RUN, folder=folder)
    assert picture.read_bytes() == before
    assert "coverage evaluated" in alone.stdout
    assert "kappa" not in alone.stdout
    assert "--search module:object" in alone.stdout
    os.utime(picture, (0, 0))  # older than the run, which went on since
    # the one that fits is taken
    known = call("show", RUN, "--search", "lonely_task:other", *SEARCH, folder=folder)
    assert "kappa" in known.stdout
    assert "--search" not in known.stdout
    assert picture.stat().st_mtime > 0


@pytest.mark.slow
def test_two_methods_of_one_name_and_those_of_pyribs_are_compared_in_an_own_search(folder):
    pytest.importorskip("ribs")
    few = ("--seeds", 2, "--generations", 2, "--estimator", "counts")
    methods = ("--estimator", "lonely_task:counts", "--peers", "--tessellation", "--out", "two")
    call("compare", "lonely_task:search", *few, *methods, folder=folder)
    page = (folder / "two.md").read_text()
    for name in ("lonely_task:counts", "counts", "pyribs, CMA-MAE", "8 + 6"):
        assert f"| {name} | " in page
    assert "tessellation of what counts; lonely_task:counts; pyribs" in page
    alone = call("compare", "lonely_task:search", "arm", *few, folder=folder, status=2)
    assert "compared alone" in alone.stderr


@pytest.mark.slow
def test_figure_report_and_movie_take_the_search(folder):
    assert "--search module:object" in call("figure", "eta", RUN, folder=folder, status=2).stderr
    for arguments in (("figure", "eta", RUN), ("report", RUN), ("movie", RUN)):
        call(*arguments, *SEARCH, folder=folder)
    assert "κ(i)" in (folder / "report.html").read_text()


def test_an_error_in_own_code_is_told_with_its_place(folder):
    done = call("run", "lonely_task:strange", "--out", "strange", folder=folder, status=2)
    assert done.stderr.startswith("brns: KeyError('no such wall')\n")
    assert "\nIt was raised in your code:" in done.stderr
    assert 'lonely_task.py", line 32, in evaluate' in done.stderr


def test_own_code_that_jax_cannot_compile_is_told_with_its_place(folder):
    done = call("run", "lonely_task:Mislabeled", "--out", "mislabeled", folder=folder, status=2)
    assert done.stderr.startswith("brns: Mislabeled: traceable is True, but evaluate is not JAX")
    assert "Evaluation(genotypes[:, :2] * float(genotypes[0, 0]))" in done.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("stopped", "Stopped."),
        ("Hasty", "Stopped before anything was saved"),
        ("Terminated", "Stopped before anything was saved"),
    ],
)
def test_ctrl_c_or_a_termination_before_a_run_ends_with_a_word(folder, name, told):
    ended = call("run", f"lonely_task:{name}", "--out", "stopped", folder=folder, status=130)
    assert told in ended.stdout


def test_a_task_of_ones_own_is_searched_with_a_novelty_by_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    search = make_search_from("lonely_task:Lonely", "population", ["task.genes=4"])
    assert (type(search.task).__name__, search.task.genes) == ("Lonely", 4)
    assert search.estimator == PopulationKNN()
    assert load_or_make_user_search("lonely_task:Lonely").estimator == VisitCounts()


def test_an_own_run_goes_on_with_its_search(folder):
    call("resume", RUN, "--generations", 3, folder=folder, status=2)
    call("resume", RUN, "--generations", 3, *SEARCH, folder=folder)
    assert Record(folder / RUN).last_generation == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes", "shape"),
    [
        ("search", ["task.genes=4"], (8, 4)),
        ("spread", ["population_size=5", "mutate=redraw"], (5, 5)),
    ],
)
def test_a_resumed_own_search_has_the_settings_and_operators_of_its_run(
    name, changes, shape, folder
):
    own, out = f"lonely_task:{name}", f"set-{name}"
    sets = [f"--set={change}" for change in changes]
    call("run", own, "--generations", 1, "--out", out, *sets, folder=folder)
    call("resume", out, "--generations", 2, "--search", own, folder=folder)
    assert Record(folder / out).population(2).genotype.shape == shape


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "nowhere:search"), "there is no module 'nowhere'"),
        (("run", "./lonely_task.py:search"), "as import names it"),
        (("run", "lonely_task.py:search"), "own:MyTask of a file own.py"),
        (("run", "lonely_task:searhc"), "no attribute 'searhc'"),
        (("run", "lonely_task:needs"), "callable without arguments"),
        (("run", "lonely_task:nothing"), "got int"),
        (
            ("run", "lonely_task:search", "--estimator", "archive", "--out", "no"),
            "an estimator of its own",
        ),
        (("show", RUN, "--search", "lonely_task:strange"), "made by another search"),
    ],
)
def test_what_is_no_search_is_an_error_that_says_so(folder, arguments, told):
    assert told in call(*arguments, folder=folder, status=2).stderr


@pytest.mark.parametrize("name", ["forgiving", "in_chunks"])
def test_what_may_fail_in_an_own_search_may_fail_too_with_settings_and_when_resumed(
    folder, name, monkeypatch, tmp_path
):
    monkeypatch.syspath_prepend(folder)
    own = f"lonely_task:{name}"
    search = make_search_from(own, None, ["task.genes=4"])
    given = search.task
    assert given.failures == 0.5
    run(search, 1, out=tmp_path / "run", progress=False)
    (record,) = load_records([tmp_path / "run"], [own])
    task = record.search.task
    assert (task.failures, task.chunk, task.timeout) == (0.5, given.chunk, given.timeout)
    assert unwrap_task(task).genes == 4
    with open_workers(record.search, "1", None, None, None) as spread:
        assert (spread.task.failures, spread.task.timeout) == (0.5, given.timeout)


def test_an_own_search_on_several_devices_stays_there(folder, monkeypatch, tmp_path):
    module = "import brns\nsearch = brns.NoveltySearch(brns.Sharded(brns.PlanarArm(), 1))\n"
    (tmp_path / "sharded_task.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    search = make_search_from("sharded_task:search", None, ["task.joints=3"])
    assert isinstance(search.task, Sharded)
    assert search.task.task.joints == 3
    run(NoveltySearch(PlanarArm()), 1, out=tmp_path / "run", progress=False)
    (record,) = load_records([tmp_path / "run"], ["sharded_task:search"])
    assert isinstance(record.search.task, Sharded)


def test_of_several_seeds_the_first_is_taken_and_that_is_said(tmp_path, capsys):
    arm = NoveltySearch(PlanarArm(), PopulationKNN(k=2), 4, 4, mutate=UniformResampling())
    run(arm, 1, out=tmp_path / "run", seeds=[3, 5], progress=False)
    assert load_first_record(tmp_path / "run", None).seed == 3
    assert "holds 2 runs; this is the first, seed 3." in " ".join(capsys.readouterr().out.split())
