"""Tasks in chunks in this process, or in an executor of one's own."""

import multiprocessing
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import jax
import numpy as np
import pytest
from chunks import EXPECTED, GENOTYPES, KEY, Slow, alone
from files import same
from numpy.testing import assert_allclose, assert_array_equal
from small_tasks import Counting, Faulty, Fragile, HostIdentity, Identity, Windy, altered

import brns
from brns.settings.description import part_to_json
from brns.tasks.chunked import Chunked
from brns.tasks.worker import EvaluationError


def test_a_traceable_task_meets_one_shape_whatever_the_batch():
    shapes = []

    class Noting(Identity):
        def evaluate(self, genotypes, key):
            shapes.append(genotypes.shape)
            return super().evaluate(genotypes, key)

    for n in (26, 25, 8, 3):
        evaluation = Chunked(Noting(), chunk=4).evaluate(GENOTYPES[:n], KEY)
        assert_allclose(evaluation.descriptor, EXPECTED.descriptor[:n], rtol=1e-6)
    assert shapes == [(4, 5)]


def test_cutting_changes_no_bit_and_an_executor_of_ones_own_stays_open():
    expected = alone(Windy())
    for chunk in (1, 7, 100):
        task = Chunked(Windy(), chunk=chunk)
        assert same(task.evaluate(GENOTYPES, KEY), expected)
    key = jax.random.key(0, impl="rbg")
    wind = Windy().evaluate(GENOTYPES, key).descriptor
    assert_array_equal(Chunked(Windy()).evaluate(GENOTYPES, key).descriptor, wind)
    whole = Counting()
    Chunked(whole, chunk=None).evaluate(GENOTYPES, KEY)
    assert whole.calls == 1
    with ThreadPoolExecutor(2) as threads:
        with Chunked(Windy(), executor=threads) as task:
            assert same(task.evaluate(GENOTYPES, KEY), expected)
        with pytest.raises(EvaluationError, match=r"individuals 8 to 11 of 26 .*the floor"):
            Chunked(Faulty("raises"), executor=threads).evaluate(GENOTYPES, KEY)
        locked = Faulty(threading.Lock())
        with pytest.raises(EvaluationError, match=r"Faulty .*lock.*by __getstate__"):
            Chunked(locked, executor=threads).evaluate(GENOTYPES, KEY)


def test_without_workers_too_and_more_than_may_fail_end_the_run():
    genotypes = GENOTYPES.at[:, 4].set(0.0)
    for chunk, failures, most in ((2, 0.1, 3), (None, 0.2, 5)):
        task = Chunked(Fragile(), chunk=chunk, failures=failures)
        evaluation = task.evaluate(genotypes.at[3, 4].set(0.9).at[20, 4].set(0.9), KEY)
        assert np.flatnonzero(evaluation.failed).tolist() == [3, 20]
        message = rf"{most + 1} of 26 .*failures={failures} {most} may(.|\n)*no friction"
        with pytest.raises(EvaluationError, match=message):
            task.evaluate(genotypes.at[: most + 1, 4].set(0.9), KEY)
    assert part_to_json(Chunked(Fragile(), chunk=None)) == part_to_json(Fragile())
    with pytest.raises(ValueError, match=r"Identity is JAX code.*isfinite"):
        Chunked(Identity(), chunk=None)


def test_who_is_said_to_fail_or_is_not_finite_or_too_far_has_failed():
    def spoil(evaluation, genotypes, key):
        descriptor, fitness, *_ = map(np.array, evaluation)
        fitness[5], descriptor[7] = np.inf, 1e20
        return brns.Evaluation(descriptor, fitness, failed=np.asarray(genotypes[:, 0] > 0.8))

    task = Chunked(altered(spoil), chunk=None, failures=0.1)
    evaluation = task.evaluate(GENOTYPES, KEY)
    assert np.flatnonzero(evaluation.failed).tolist() == [5, 7, 9]
    with pytest.raises(EvaluationError, match=r"4 of 26 .*failures=0.1 3 may"):
        task.evaluate(GENOTYPES.at[0, 0].set(0.9), KEY)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_an_executor_that_forks_is_refused():
    fork = multiprocessing.get_context("fork")
    with (
        ProcessPoolExecutor(1, mp_context=fork) as executor,
        pytest.raises(EvaluationError, match=r"forks.*spawn"),
    ):
        Chunked(HostIdentity(), executor=executor, failures=0.5).evaluate(GENOTYPES, KEY)


def test_an_executor_that_hangs_is_not_waited_for_but_until_its_worker_has_started():
    """The first chunk alone may start one: later ones have `timeout`, whatever generation they are
    of.
    """
    with ThreadPoolExecutor(2) as executor:
        task = Chunked(Slow(), executor=executor, timeout=0.2, chunk=len(GENOTYPES))
        task.evaluate(GENOTYPES, KEY)
        halves = Chunked(Slow(), executor=ThreadPoolExecutor(1), timeout=0.2, chunk=13)
        for late in (task, halves):
            with pytest.raises(EvaluationError, match=r"timeout=0.2.*brns.Processes"):
                late.evaluate(GENOTYPES, KEY)


def test_an_executor_that_gives_no_future_for_a_chunk_is_refused():
    class Wrong(Executor):
        def submit(self, function, *arguments):
            return "a result"

    with pytest.raises(EvaluationError, match=r"a concurrent.futures.Future; got a builtins.str"):
        Chunked(HostIdentity(), executor=Wrong()).evaluate(GENOTYPES, KEY)
