"""Searches of a user's own on the command line."""

import numpy as np
import pytest
from shell import call

from brns import Record

MODULE = '''
import equinox as eqx
from brns import Box, Evaluation, ExactRecognition, NoveltySearch, Processes


class Lonely(eqx.Module):
    genes: int = 3
    """how many genes"""
    traceable = True

    @property
    def genotype_space(self):
        return Box([-1.0] * self.genes, [1.0] * self.genes)

    @property
    def behavior_space(self):
        return Box([-1.0, -1.0], [1.0, 1.0])

    def evaluate(self, genotypes, key):
        return Evaluation(genotypes[:, :2], genotypes[:, 2], genotypes[:, 2] > 2)


def search():
    return NoveltySearch(Lonely(), ExactRecognition(size=16), population_size=6, offspring_size=6)


class Stranger(Lonely):
    pass


def needs(genes):
    return NoveltySearch(Lonely(genes))


other = NoveltySearch(Lonely(5), ExactRecognition(size=16), population_size=6, offspring_size=6)
strange = NoveltySearch(Stranger(), ExactRecognition(size=16), population_size=6, offspring_size=6)
spread = NoveltySearch(Processes(Lonely(), workers=1), ExactRecognition(size=16), population_size=6, offspring_size=6)
nothing = 5
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the module and a finished run of its search."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "lonely_world.py").write_text(MODULE)
    done = call("run", "lonely_world:search", "--generations", 2, "--keep-every", 1, folder=folder)
    assert done.returncode == 0, done.stderr
    assert "kappa" in done.stdout  # the run's end knows the search
    return folder


BROKEN = """
from brns import ExactRecognition, NoveltySearch
from lonely_world import Lonely


class Broken(Lonely):
    traceable = False
    def evaluate(self, genotypes, key):
        raise ValueError("no such wall")


search = NoveltySearch(Broken(), ExactRecognition(size=16), population_size=6, offspring_size=6)
"""
COUNTS = """
from brns import GridCounts, NoveltySearch, PlanarArm


class Mine(GridCounts):
    pass


search = NoveltySearch(PlanarArm(), Mine(), population_size=6, offspring_size=6)
"""
SMALL = ("--set", "population_size=6", "--set", "offspring_size=6")
RUN = "runs/lonely_world-search-seed0"
SEARCH = ("--search", "lonely_world:search")


def test_an_own_run_is_shown_with_and_without_its_search(folder):
    picture = folder / RUN / "overview.png"
    before = picture.read_bytes()
    alone = call("show", RUN, folder=folder)
    assert alone.returncode == 0, alone.stderr
    assert picture.read_bytes() == before  # a poorer one is not written over it
    assert "stays as it is" in alone.stdout
    assert "coverage evaluated" in alone.stdout
    assert "kappa" not in alone.stdout
    assert "--search module:object" in alone.stdout
    known = call("show", RUN, "--search", "lonely_world:other", *SEARCH, folder=folder)  # the one that fits is taken
    assert "kappa" in known.stdout
    assert "--search" not in known.stdout


def test_methods_are_compared_in_ones_own_search(folder):
    """With its sizes and one's own estimator; and in a class that makes a task. Beside another world it is refused."""
    few = ("--estimator", "counts", "--estimator", "population", "--seeds", 2, "--generations", 2)
    own = call(
        "compare",
        "lonely_world:search",
        "--estimator",
        "brns.estimators.counts:GridCounts",
        *few[4:],
        "--out",
        "own",
        folder=folder,
    )
    assert own.returncode == 0, own.stderr
    assert "| 6 + 6 |" in (folder / "own.md").read_text()
    assert "| world | GridCounts |" in (folder / "own.md").read_text()
    task = call("compare", "lonely_world:Stranger", *few, "--estimate", folder=folder)
    assert task.returncode == 0, task.stderr
    assert task.stdout.lstrip().startswith("Stranger ")
    both = call("compare", "lonely_world:search", "arm", *few, folder=folder)
    assert both.returncode == 2
    assert "compared alone" in both.stderr


@pytest.mark.slow
def test_figure_report_and_movie_take_the_search(folder):
    refused = call("figure", "eta", RUN, folder=folder)
    assert refused.returncode == 2
    assert "--search module:object" in refused.stderr
    assert call("figure", "age", RUN, folder=folder).returncode == 0
    for arguments in (("figure", "eta", RUN), ("report", RUN), ("movie", RUN)):
        done = call(*arguments, *SEARCH, folder=folder)
        assert done.returncode == 0, done.stderr
    assert "κ(i)" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_an_own_run_is_shown_beside_one_of_the_librarys(folder):
    """An estimator of one's own in the arm's world, and the library's, whose runs need nothing given."""
    (folder / "own_counts.py").write_text(COUNTS)
    for out, words in (("mine", ["own_counts:search"]), ("arm", ["arm", "--estimator", "counts", *SMALL])):
        done = call("run", *words, "--generations", 2, "--keep-every", 1, "--out", out, folder=folder)
        assert done.returncode == 0, done.stderr
    both = call("figure", "eta", "mine", "arm", "--search", "own_counts:search", folder=folder)
    assert both.returncode == 0, both.stderr
    none = call("figure", "eta", "arm", "--search", "own_counts:search", folder=folder)
    assert none.returncode == 2
    assert "made by another search than --search gives" in none.stderr


def test_what_ones_own_code_raises_is_told_with_its_place(folder):
    (folder / "broken_world.py").write_text(BROKEN)
    done = call("run", "broken_world:search", "--out", "broken", folder=folder)
    assert "brns: no such wall" in done.stderr
    (folder / "broken_world.py").write_text(BROKEN.replace("ValueError", "KeyError"))
    other = call("run", "broken_world:search", "--out", "key", folder=folder)
    for one in (done, other):
        assert one.returncode == 2
        assert "It was raised in your code:" in one.stderr
        assert 'broken_world.py", line 9, in evaluate' in one.stderr


def test_ctrl_c_outside_of_a_run_ends_with_a_word(folder):
    (folder / "stopped_world.py").write_text("def search():\n    raise KeyboardInterrupt\n")
    for command, told in (("run", "Stopped.\n"), ("compare", "Stopped. What was finished is saved: the same command")):
        done = call(command, "stopped_world:search", "--out", "stopped", folder=folder)
        assert done.returncode == 130
        assert done.stdout.startswith(told)


def test_an_own_run_goes_on_to_the_bits_of_one_that_never_stopped(folder):
    whole = call("run", "lonely_world:search", "--generations", 3, "--out", "whole", folder=folder)
    assert whole.returncode == 0, whole.stderr
    refused = call("resume", RUN, "--generations", 3, folder=folder)
    assert refused.returncode == 2
    done = call("resume", RUN, "--generations", 3, *SEARCH, folder=folder)
    assert done.returncode == 0, done.stderr
    for name in ("offspring.genotype", "survivors.novelty"):
        np.testing.assert_array_equal(Record(folder / RUN).column(name), Record(folder / "whole").column(name))


@pytest.mark.slow
def test_settings_of_an_own_search_can_be_set(folder):
    changes = ("--set", "task.genes=4", "--set", "population_size=5")
    done = call("run", "lonely_world:search", "--generations", 1, "--out", "set", *changes, folder=folder)
    assert done.returncode == 0, done.stderr
    record = Record(folder / "set")
    assert (record.experiment["task"]["genes"], record.experiment["population_size"]) == (4, 5)
    again = call("resume", "set", "--generations", 2, *SEARCH, folder=folder)  # its settings are the run's
    assert again.returncode == 0, again.stderr
    assert Record(folder / "set").population().genotype.shape == (5, 4)


@pytest.mark.slow
def test_a_search_of_workers_of_ones_own_goes_on(folder):
    own = ("--search", "lonely_world:spread")
    done = call("run", "lonely_world:spread", "--generations", 1, "--out", "spread", folder=folder)
    assert done.returncode == 0, done.stderr
    again = call("resume", "spread", "--generations", 2, "--workers", 1, *own, folder=folder)
    assert again.returncode == 0, again.stderr
    assert Record(folder / "spread").last == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "nowhere:search"), "no module 'nowhere'"),
        (("run", "./lonely_world.py:search"), "as Python imports it from its own folder, such as my_task:search"),
        (("figure", "age", RUN, "--out", "picture"), "ends in .png, .pdf or .svg; got 'picture'"),
        (("run", "lonely_world:"), "module:object, such as"),
        (("run", "lonely_world:searhc"), "has no 'searhc'"),
        (("run", "lonely_world:needs"), "must be a function without arguments, or a search; calling it: missing"),
        (("run", "lonely_world:nothing"), "must be a brns.NoveltySearch or a function that returns one; got int"),
        (("run", "lonely_world:search", "--estimator", "archive", "--out", "no"), "an estimator of its own"),
        (("show", RUN, "--search", "lonely_world:strange"), "made by another search than --search gives"),
        (("show", RUN, "--json", "--csv"), "got both"),
    ],
)
def test_what_is_no_search_is_an_error_that_says_so(folder, arguments, told):
    done = call(*arguments, folder=folder)
    assert done.returncode == 2
    assert told in done.stderr
