"""The NumPy face of an estimator: what the pure functions say, also from a file."""

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import ESTIMATOR, Distance

import brns
from brns import Box, Novelty
from brns.core import Generation
from brns.interoperation import novelty as interoperation
from brns.runs.arrays import write_arrays
from brns.runs.files import RecordError

SPACE = Box([-1.0, -1.0], [1.0, 1.0])
ARCHIVE = brns.ArchiveKNN(k=3, additions=2, capacity=30)  # whom it takes in is drawn
COUNTS = brns.VisitCounts(grids=8)
BATCHES = np.random.default_rng(0).uniform(-1, 1, (4, 13, 2))


class Drawn(Distance):
    """The distance to the mean of the last batch, with what is drawn for that."""

    def update(self, state, generation, key):
        return super().update(state, generation, key) + jax.random.uniform(key, state.shape)


@pytest.mark.parametrize("estimator", [COUNTS, Drawn()])
def test_it_says_what_the_pure_functions_say(estimator):
    novelty, key = Novelty(estimator, SPACE, seed=3), jax.random.key(3)
    score, update = eqx.filter_jit(estimator.score), eqx.filter_jit(estimator.update)
    state = eqx.filter_jit(estimator.init)(SPACE, jax.random.fold_in(key, 0))
    for number, behaviors in enumerate(BATCHES, 1):
        batch = Generation.from_descriptors(behaviors, number)
        descriptors, nobody = batch.offspring.descriptor, batch.parents
        scores = novelty.score(behaviors)
        assert isinstance(scores, np.ndarray)
        assert_array_equal(scores, score(state, descriptors, nobody))
        among = novelty.score(behaviors, population=behaviors)
        assert_array_equal(among, score(state, descriptors, batch.offspring))
        assert (among < scores).any() == (estimator is COUNTS)
        novelty.learn(behaviors, scores)
        state = update(state, batch, jax.random.fold_in(key, number))
    assert repr(novelty).endswith("seed=3, 52 behaviors of 2 dimensions in 4 batches)")


def test_an_archive_says_how_novel_behaviors_are_given_all_that_were_learned():
    """On a line at 0, 1, 3 and then 10, 12 of another number of rows: all five are neighbours."""
    space = Box([0.0, 0.0], [12.0, 16.0])
    novelty = Novelty(brns.ArchiveKNN(k=2, additions=1, capacity=9), space)

    def line(*places):
        return np.stack([places, np.zeros(len(places))], axis=1)

    assert novelty.score(line(4)) == 20  # nothing was learned: as far as the space is large
    novelty.learn(line(0, 1, 3))
    novelty.learn(line(10, 12))
    # 0.5 and 2.5; 4 and 5; of one that was learned itself at 0, and 2 more.
    assert novelty.score(line(0.5, 5.5, 3)).tolist() == [0.5, 3.5, 1.0]
    assert novelty.score(line(18), population=line(18, 19)) == 3.5


@pytest.mark.parametrize("estimator", [COUNTS, brns.ExactRecognition(size=16), ARCHIVE])
def test_batches_of_few_sizes_are_compiled_and_the_rest_of_them_changes_nothing(estimator):
    novelty = Novelty(estimator, SPACE)
    novelty.learn(BATCHES[0])
    scores = novelty.score(BATCHES[1])
    novelty.score(BATCHES[1][:1])  # one row has a program of its own
    programs = interoperation._score._cached._cache_size()
    for rows in (slice(0, 1), slice(0, 7), slice(3, 13)):
        assert_allclose(novelty.score(BATCHES[1][rows]), scores[rows], rtol=1e-5)
    assert interoperation._score._cached._cache_size() == programs
    assert novelty.learned == 13


def test_several_threads_may_learn_and_save_to_one_file(tmp_path):
    novelty, file = Novelty(COUNTS, SPACE), tmp_path / "novelty.npz"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(novelty.learn, [np.zeros((10, 2))] * 41))
        list(threads.map(lambda _: novelty.save(file), range(64)))
    assert (novelty.learned, novelty.batches) == (410, 41)
    assert (np.asarray(novelty.state.visits).reshape(8, -1).sum(axis=1) == 410).all()
    assert [each.name for each in tmp_path.iterdir()] == ["novelty.npz"]
    assert repr(Novelty.load(file)) == repr(novelty)


def test_one_that_was_copied_sent_to_a_process_or_saved_goes_on_to_the_same_bits(tmp_path):
    whole = Novelty(ARCHIVE, SPACE, seed=np.int64(1))
    whole.learn(BATCHES[0])
    whole.save(tmp_path / "novelty.npz")
    saved = Novelty.load(tmp_path / "novelty.npz")
    others = [copy.deepcopy(whole), pickle.loads(pickle.dumps(whole)), saved]
    assert [repr(other) for other in others] == [repr(whole)] * 3
    for one in (whole, *others):
        one.learn(BATCHES[1])
        assert_array_equal(one.score(BATCHES[2]), whole.score(BATCHES[2]))


def test_an_archive_that_takes_the_most_novel_is_told_which_those_are():
    """It has room for two of three."""
    archive = brns.ArchiveKNN(k=1, additions=1, capacity=2, entry="most_novel")
    novelty = Novelty(archive, Box([0.0], [20.0]))
    points = np.array([[0.0], [1.0], [9.0]])
    novelty.learn(points, novelty.score(points, population=points))
    assert sorted(np.asarray(novelty.state.descriptor)[:, 0]) == [0, 9]
    for choosing in ({"entry": "most_novel"}, {"threshold": 0.1}, {"removal": "least_novel"}):
        with pytest.raises(ValueError, match=r"give it, as in learn\(descriptors, score"):
            Novelty(brns.ArchiveKNN(**choosing), SPACE).learn([[0.0, 0.0]])


def test_a_network_that_learned_what_is_too_far_says_so():
    novelty = Novelty(ESTIMATOR, SPACE)
    novelty.learn([[0.0, 0.0]] * 16 + [[1e11, 1e11]])
    with pytest.raises(ValueError, match=r"1 of 1 behaviors a novelty of NaN.*too far"):
        novelty.score([[0.5, 0.5]])


class Mine(Distance):
    weight: float = 1.0

    def score(self, state, descriptors, population):
        return self.weight * super().score(state, descriptors, population)


def test_an_estimator_of_ones_own_is_given_again_and_another_is_refused(tmp_path):
    novelty = Novelty(Mine(), SPACE)
    novelty.learn([[0.5, 0.5]])
    novelty.save(tmp_path / "mine.npz")
    assert Novelty.load(tmp_path / "mine.npz", Mine()).score([[1.0, 0.5]]).tolist() == [0.5]
    with pytest.raises(ValueError, match=r"estimator Mine.*give load the estimator="):
        Novelty.load(tmp_path / "mine.npz")
    with pytest.raises(RecordError, match=r"another estimator: weight was 1.0 and is 2.0"):
        Novelty.load(tmp_path / "mine.npz", Mine(2.0))
    write_arrays(tmp_path / "other.npz", {"a": np.zeros(3)}, "generation 0 of run 0123")
    with pytest.raises(RecordError, match="Novelty"):
        Novelty.load(tmp_path / "other.npz")


def test_nobody_is_scored_and_learned_without_a_change():
    novelty, nobody = Novelty(COUNTS, SPACE), np.zeros((0, 2))
    assert novelty.score(nobody).shape == (0,)
    novelty.learn(nobody)
    assert (novelty.batches, novelty.learned) == (0, 0)
    assert novelty.score([[0.0, 0.0]], population=nobody) == 1


def test_what_is_too_small_for_float32_is_zero_though_numpy_shall_raise_at_it():
    novelty = Novelty(COUNTS, SPACE)
    with np.errstate(all="raise"):
        novelty.learn([[0.5, 1e-60]])
        assert novelty.score([[0.5, -1e-60]]) == novelty.score([[0.5, 0.0]])


def test_what_gives_numpy_no_copy_is_taken_without_a_warning():
    """As PyTorch's tensors."""

    class Tensor:
        def __array__(self, dtype=None):
            return np.zeros((1, 2), dtype)

    novelty = Novelty(COUNTS, SPACE)
    with warnings.catch_warnings(action="error"):
        assert novelty.score(Tensor()) == novelty.score(np.zeros((1, 2)))


def test_what_are_no_descriptors_and_no_novelty_is_refused():
    novelty = Novelty(COUNTS, SPACE)
    for wrong in (np.zeros(2), [[np.nan, 0], [0, 0]]):
        with pytest.raises(ValueError, match=r"descriptors must (have shape \(n, 2\)|be finite)"):
            novelty.score(wrong)
    seconds = np.zeros((1, 2), "m8[s]")
    for wrong in (None, [["a", "b"]], [[1j, 0]], [[0, 0], [0]], seconds):
        with pytest.raises(ValueError, match=r"brns\.Novelty needs descriptors as"):
            novelty.score(wrong)
    halves = [[Fraction(1, 2), 0]]
    column = np.empty(1, object)  # whose entries are rows, such as a column of pandas
    column[0] = halves[0]
    for wrong, advice in (
        (iter(halves), "give a list"),
        (halves, r"np\.array\(\.\.\., float\)"),
        (column, r"np\.array\(list\(\.\.\.\), float\)"),
    ):
        with pytest.raises(ValueError, match=advice):
            novelty.score(wrong)
    for right in (np.array(halves, float), np.array(list(column), float)):
        assert novelty.score(right) == novelty.score([[0.5, 0]])
    for wrong in ([1.0, 2.0], [np.nan]):
        with pytest.raises(ValueError, match="1 finite numbers"):
            novelty.learn([[0.0, 0.0]], novelty=wrong)
    with pytest.raises(ValueError, match="PopulationKNN remembers nothing: give the population"):
        Novelty(brns.PopulationKNN(k=1), SPACE).score([[0.0, 0.0]])
    with pytest.raises(ValueError, match=r"within 1e\+12 widths of the space; got 1 rows .* row 1"):
        novelty.score([[0.0, 1.0], [0.0, 1e20]])
    with pytest.raises(ValueError, match="population must be finite"):
        novelty.score([[0.0, 0.0]], population=[[np.nan, 0.0]])


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_within_a_compiled_program_it_names_the_pure_functions(transform):
    novelty = Novelty(ESTIMATOR, Box([0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(ValueError, match=r"outside jax\.jit and jax\.vmap.*init, score and update"):
        transform(novelty.score)(np.zeros((3, 2)))


def test_a_space_that_most_behaviors_lie_far_from_is_told():
    novelty = brns.Novelty(COUNTS, SPACE)
    rows = np.full((10, 2), 3.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows[0] = 4.1
        novelty.learn(rows)
        rows[1] = 4.1
        with pytest.raises(UserWarning, match=r"more than a tenth .* over two widths"):
            novelty.learn(rows)


def test_padding_is_neither_learned_nor_a_neighbour():
    """By a network that learns survivors, and by k neighbours of the population."""
    rows = np.random.default_rng(1).uniform(-1, 1, (17, 2))
    errors = []
    for learn_from in ("survivors", "offspring"):
        novelty = Novelty(replace(ESTIMATOR, learn_from=learn_from), SPACE)
        for _ in range(5):
            novelty.learn(rows)
        errors.append(novelty.score(rows))
    assert_allclose(*errors, rtol=1e-4)
    with pytest.raises(ValueError, match="need a population above 15; got 10"):
        Novelty(brns.PopulationKNN(), SPACE).score(rows[:10], rows[:10])
