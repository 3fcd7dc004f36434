"""Tasks with workers: the same bits whoever evaluates, and errors that name whom they met."""

import errno
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import cloudpickle
import equinox as eqx
import jax
import jax.numpy as jnp
import loky
import numpy as np
import pytest
from chunks import EXPECTED, GENOTYPES, KEY, Slow, alone
from files import bits, refusing, same
from searches import HOST
from shell import TESTS, finished, python
from small_tasks import Faulty, HostIdentity, Identity, Windy

import brns
from brns.core.population import take_rows
from brns.settings.description import part_from_json, part_to_json
from brns.settings.sources import UserCode
from brns.tasks import chunked, processes, worker
from brns.tasks.chunked import Chunked, pop_failure_reasons, unwrap_task
from brns.tasks.processes import ProcessThreads
from brns.tasks.worker import EvaluationError, WorkerError
from brns.tasks.workers import Dask, Processes


@pytest.fixture(scope="module")
def shared():
    """Two workers for all tests: they take the chunks of any task."""
    with Processes(HostIdentity(), workers=2) as task:
        yield task.executor


def test_processes_give_the_bits_of_jax_here(shared):
    here = Chunked(Identity()).evaluate(GENOTYPES, KEY)
    assert same(Chunked(Identity(), executor=shared).evaluate(GENOTYPES, KEY), here)


class Pooling(HostIdentity):
    """A task that starts processes itself."""

    def evaluate(self, genotypes, key):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.map(abs, [-1]) == [1]
        return super().evaluate(genotypes, key)


def test_a_task_may_start_processes_in_a_worker(shared):
    assert same(Chunked(Pooling(), chunk=26, executor=shared).evaluate(GENOTYPES, KEY), EXPECTED)


def test_a_task_that_is_too_quick_for_workers_is_told_once(shared, capsys, monkeypatch):
    """A class that nobody can import goes along with what it uses."""
    middle = 300

    class Quick(HostIdentity):
        def evaluate(self, genotypes, key):
            evaluation = super().evaluate(genotypes, key)
            return evaluation._replace(descriptor=middle + middle * genotypes[:, :2])

    for task, quick in ((Slow(), 0.01), (Quick(), 60.0), (Quick(), 60.0)):
        monkeypatch.setattr("brns.tasks.chunked.QUICK", quick)  # seconds
        evaluation = Chunked(task, chunk=26, executor=shared).evaluate(GENOTYPES, KEY)
        assert same(evaluation, EXPECTED)
    told = capsys.readouterr().err
    assert told.count("Quick.evaluate is quicker than") == 1
    assert "take larger chunks (chunk=), or no workers (on the command line, leave" in told
    assert "Slow" not in told


def test_a_run_of_two_workers_is_resumed_without_any_to_the_same_bits(shared, tmp_path):
    def windy(**chunks):
        return replace(HOST, task=Chunked(Windy(), **chunks))

    brns.run(windy(executor=shared), 2, out=tmp_path / "a")
    (resumed,) = brns.resume(tmp_path / "a", 4, search=windy())
    (whole,) = brns.run(windy(), 4, out=tmp_path / "b")
    windy_json = {"name": "Chunked", "task": part_to_json(Windy()), "chunk": 4}
    assert resumed.experiment["task"] == windy_json
    assert bits(resumed.path) == bits(whole.path)
    with pytest.raises(brns.RecordError, match=r"task\.chunk was 4 and is 5"):
        brns.resume(tmp_path / "a", 5, search=windy(chunk=5))


def test_a_record_rebuilds_the_task_without_workers():
    maze = brns.DeceptiveMaze(steps=20)
    processes = Processes(maze, workers=8, timeout=1.0, chunk=5)
    for spread in (processes, Dask(maze, "tcp://10.0.0.1:8786", chunk=5)):
        rebuilt = part_from_json(part_to_json(spread))
        assert type(rebuilt) is Chunked
        assert rebuilt.executor is None
        assert (rebuilt.chunk, part_to_json(rebuilt.task)) == (5, part_to_json(maze))
        assert unwrap_task(spread) is maze


def test_a_dead_worker_costs_no_result(shared, tmp_path):
    once = Chunked(Faulty("dies", flag=str(tmp_path / "died")), executor=shared)
    assert same(once.evaluate(GENOTYPES, KEY), EXPECTED)
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("raises", "raised ZeroDivisionError: the floor"),
        ("wide", r"descriptor of shape \(4, 2\); got \(4, 3\)"),
        ("dies", "ended its process 1 times(.|\n)*-9"),
    ],
)
def test_individuals_whom_an_error_met_are_named(shared, fault, told, monkeypatch):
    monkeypatch.setattr("brns.tasks.processes.DEATHS", 1)  # quicker than 2
    message = rf"Faulty.*individuals 8 to 11 of 26 .*{told}"
    with pytest.raises(EvaluationError, match=message) as caught:
        Chunked(Faulty(fault), executor=shared).evaluate(GENOTYPES, KEY)
    notes = "".join(caught.value.__notes__)
    assert "failures=0.1" in notes  # how to go on without them
    assert "small_tasks.py" in notes or fault != "raises"


@pytest.mark.parametrize(
    "fault", ["raises", "cancels", "nan", pytest.param("dies", marks=pytest.mark.slow), "hangs"]
)
def test_an_individual_that_fails_is_marked_and_costs_no_other(shared, fault, monkeypatch):
    patient = shared.start._replace(timeout=2.0 if fault == "hangs" else None)
    monkeypatch.setattr(shared, "start", patient)
    # One alone where each time costs a process; "raises" tells that its chunk is evaluated again.
    chunk = 1 if fault == "hangs" else 4
    task = Chunked(Faulty(fault), chunk=chunk, executor=shared, failures=0.1)
    evaluation = task.evaluate(GENOTYPES, KEY)
    assert np.flatnonzero(evaluation.failed).tolist() == [9]
    living = jnp.flatnonzero(~evaluation.failed)
    assert same(take_rows(evaluation, living), take_rows(EXPECTED, living))
    (text,) = pop_failure_reasons(
        task, np.asarray(GENOTYPES[9:10]), np.asarray(jax.random.key_data(KEY))
    )
    words = {"raises": "small_tasks.py", "nan": "not finite", "dies": "-9", "hangs": "timeout=2.0"}
    words["cancels"] = "CancelledError"
    assert words[fault] in text
    assert not task.failure_reasons


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Chunked, {"chunk": 0}, "chunk: .* greater than 0; got 0"),
        (Chunked, {"timeout": 0}, "timeout: .* greater than 0; got 0"),
        (Chunked, {"timeout": float("inf")}, "timeout: .* less than or equal to .*; got inf"),
        (Chunked, {"failures": 1.0}, "failures: Input should be less than 1; got 1.0"),
        (Chunked, {"executor": ThreadPoolExecutor}, "must be an executor, with submit, or None"),
        (Processes, {"workers": 0}, "workers must be a whole number from 1 on; got 0"),
        (Processes, {"log": "nowhere/log"}, "log must be a file in a folder that is there"),
        (Processes, {"log": "/"}, "log must be a file .* got '/'"),
        (Dask, {"address": object()}, "cluster.scheduler_address; got <object"),
    ],
)
def test_settings_that_cannot_be_are_refused(kind, settings, message, unchecked):
    with pytest.raises(ValueError, match=message):
        kind(HostIdentity(), **settings)


def test_a_task_in_chunks_is_not_cut_again():
    with pytest.raises(ValueError, match=r"got Chunked.* Give its task: Processes\(x.task\)"):
        Processes(Chunked(HostIdentity()))


class Heavy(HostIdentity):
    """The task that takes longer than its timeout to unpickle, as with modules that are large."""

    def __setstate__(self, state):
        import gymnasium

        time.sleep(1.0)
        gymnasium.register("Registered-v0", entry_point="nobody:else")  # as a module does
        vars(self).update(state)

    def evaluate(self, genotypes, key):
        import gymnasium

        print("rows", len(genotypes), os.environ["BRNS_STARTED"], flush=True)
        gymnasium.spec("Registered-v0")
        return super().evaluate(genotypes, key)


@pytest.mark.slow
def test_workers_start_and_import_outside_of_their_timeout_and_print_into_a_file(tmp_path):
    gymnasium = pytest.importorskip("gymnasium")
    gymnasium.register("Registered-v0", entry_point=lambda: None)

    class Start(eqx.Module):
        word: str

    def begin():
        os.environ["BRNS_STARTED"] = Start("once").word

    log = tmp_path / "workers.log"
    heavy = Processes(Heavy(), workers=1, timeout=0.9, chunk=13, initializer=begin, log=log)
    assert UserCode(heavy).texts == UserCode(Heavy()).texts
    try:
        with heavy as task:
            assert same(task.evaluate(GENOTYPES, KEY), EXPECTED)
    finally:
        del gymnasium.registry["Registered-v0"]
    assert log.read_text().split("\n") == ["rows 13 once"] * 2 + [""]


def test_what_is_registered_is_sent_to_workers_with_the_classes_of_the_script(monkeypatch):
    registration = pytest.importorskip("gymnasium").envs.registration
    mine = registration.EnvSpec("Mine-v0", "__main__:Env")
    monkeypatch.setitem(registration.registry, "Mine-v0", mine)
    monkeypatch.setattr(sys.modules["__main__"], "Env", Slow, raising=False)
    sent = [pickle.loads(each) for each in worker.pickle_registered_environments()]
    assert (mine, {"Env": Slow}) in sent
    assert (registration.registry["CartPole-v1"], {}) in sent  # a package's


@pytest.mark.slow
def test_a_module_that_a_script_defines_has_its_settings_in_a_worker_too(shared):
    """Where it is an argument of what JAX compiles, and where a worker makes another one."""

    class Scaled(Identity):
        genes: float = 1.0
        power: int = eqx.field(default=1, static=True)

        def evaluate(self, genotypes, key):
            return super().evaluate(self.genes * genotypes**self.power, key)

    class Half(Scaled):
        def evaluate(self, genotypes, key):
            return super().evaluate(Scaled(genes=0.5).genes * genotypes, key)

    task = Half(genes=0.5, power=3)
    assert same(Chunked(task, executor=shared).evaluate(GENOTYPES, KEY), alone(task))


def test_an_initializer_that_raises_is_told():
    def begin():
        raise FileNotFoundError("no licence")

    with pytest.raises(WorkerError, match=r"the initializer raised .*no licence"):
        worker.start_jax_and_initialize(cloudpickle.dumps(begin))


def test_a_worker_keeps_a_task_so_that_chunks_come_without_it(shared, monkeypatch):
    """In bytes of what is sent: a task of 1 MB goes at most once to each of two workers."""
    sizes = []

    def counting(executor, function, *arguments):
        sizes.append(len(pickle.dumps(arguments)))
        return submit(executor, function, *arguments)

    submit = loky.ProcessPoolExecutor.submit
    monkeypatch.setattr(loky.ProcessPoolExecutor, "submit", counting)
    task = Chunked(Weighty(weight=np.ones(250_000, np.float32)), executor=shared)
    for _ in range(3):
        assert same(task.evaluate(GENOTYPES, KEY), EXPECTED)
    assert 1 <= sum(size > 1_000_000 for size in sizes) <= 2
    assert sum(size < 10_000 for size in sizes) >= 3 * 7


def test_a_worker_keeps_the_tasks_that_were_used_last(monkeypatch):
    monkeypatch.setattr(worker, "_tasks", {})
    monkeypatch.setattr(worker, "HELD", 2)
    packed = [Chunked(task)._pickle_task() for task in (HostIdentity(), Windy(), Modes())]
    key = np.asarray(jax.random.key_data(KEY)), "threefry2x32"
    for number in (0, 1, 0, 2):
        worker.evaluate_and_time_packed("a chunk", packed[number], np.asarray(GENOTYPES), key)
    assert [*worker._tasks] == [packed[0][0], packed[2][0]]


class Weighty(HostIdentity):
    weight: np.ndarray = None


class Modes(HostIdentity):
    """Its behavior is how many bytes a float of JAX has, and what a seed of 0 is."""

    def evaluate(self, genotypes, key):
        _, seed = jax.random.key_data(jax.random.key(0))
        row = jnp.zeros(1, float).dtype.itemsize, int(seed)
        return brns.Evaluation(np.full((len(genotypes), 2), row, np.float32))


def test_workers_round_and_draw_by_the_settings_of_jax_in_the_searchs_process(shared):
    task, found = Chunked(Modes(), executor=shared), []
    for x64, offset in ((False, 0), (True, 7), (False, 0)):
        jax.config.update("jax_random_seed_offset", offset)
        with jax.enable_x64(x64):
            found += np.unique(task.evaluate(GENOTYPES, KEY).descriptor, axis=0).tolist()
    assert found == [[4, 0], [8, 7], [4, 0]]
    with ThreadPoolExecutor(1) as threads, jax.enable_x64(True):
        Chunked(Modes(), executor=threads).evaluate(GENOTYPES, KEY)
    assert not jax.config.jax_enable_x64


def test_no_shared_memory_is_told_with_what_to_do(monkeypatch):
    monkeypatch.setattr("loky.ProcessPoolExecutor", refusing(errno.ENOSPC))
    with (
        Processes(HostIdentity(), workers=1) as task,
        pytest.raises(EvaluationError, match=r"No space left.*/dev/shm.*--shm-size"),
    ):
        task.evaluate(GENOTYPES, KEY)


def test_ctrl_c_ends_the_workers_at_once(shared, tmp_path):
    begun = []

    def press():
        waited((tmp_path / "met").exists)
        begun.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    threading.Thread(target=press).start()
    hanging = Chunked(Faulty("hangs", flag=str(tmp_path / "met")), executor=shared)
    with pytest.raises(KeyboardInterrupt):
        hanging.evaluate(GENOTYPES, KEY)
    assert time.monotonic() - begun[0] < 5
    assert shared.opened is None


def test_a_worker_whose_memory_grows_is_not_replaced(monkeypatch):
    pytest.importorskip("psutil")  # without it loky does not look, otherwise once a second
    monkeypatch.setenv("LOKY_MAX_MEMORY_LEAK_SIZE", "-1e12")
    with Processes(Slow(), workers=1, chunk=4) as task:
        assert same(task.evaluate(GENOTYPES, KEY), EXPECTED)


class Begun(HostIdentity):
    """A task that says what its process began with."""

    def evaluate(self, genotypes, key):
        fitness = np.full(len(genotypes), float(os.environ.get("BRNS_BEGUN", 0)))
        return super().evaluate(genotypes, key)._replace(fitness=fitness)


@pytest.mark.slow
def test_of_two_searches_on_a_cluster_each_has_its_initializer():
    """A cluster's thread goes on from one search to the next."""
    thread = ThreadPoolExecutor(1)
    for number in (1, 2, 0):
        begin = partial(exec, f"import os; os.environ['BRNS_BEGUN'] = '{number}'", {})
        begin = begin if number else None
        executor = ProcessThreads(lambda _: thread, "a cluster", None, begin, None)
        for _ in range(2):
            evaluation = Chunked(Begun(), chunk=26, executor=executor).evaluate(GENOTYPES, KEY)
            assert (evaluation.fitness == number).all()
    thread.submit(lambda: processes._THREAD.process.shutdown(kill_workers=True)).result()


class Imported(HostIdentity):
    """A task of which a process takes one, as it imports a module."""

    number: int = 0

    def __reduce__(self):
        return _take_one, (self.number,)


def _take_one(number):
    assert os.environ.setdefault("BRNS_TAKEN", str(number)) == str(number)
    return Imported(number=number)


@pytest.mark.slow
def test_a_process_that_cannot_take_a_task_after_an_edit_is_begun_anew():
    """As of a cluster that was there for the search before."""
    with Processes(HostIdentity(), workers=1) as task:
        for number in (1, 2):
            edited = Chunked(Imported(number=number), chunk=26, executor=task.executor)
            assert same(edited.evaluate(GENOTYPES, KEY), EXPECTED)


def test_a_worker_with_other_versions_of_packages_says_which(monkeypatch):
    packed = Chunked(HostIdentity())._pickle_task()
    monkeypatch.setitem(worker.VERSIONS, "numpy", "1.0")
    with pytest.raises(WorkerError, match=f"numpy is 1.0 here, and {np.__version__} in the search"):
        worker.cache_task_and_list_digests(*packed)


def test_workers_tell_a_task_from_that_of_its_code_before_an_edit(monkeypatch):
    before, _ = Chunked(HostIdentity())._pickle_task()
    assert Chunked(HostIdentity())._pickle_task()[0] == before
    edited = chunked.UserCode(HostIdentity())
    edited.texts = {"small_tasks.HostIdentity": "# as it was before"}
    monkeypatch.setattr(chunked, "UserCode", lambda task: edited)
    assert Chunked(HostIdentity())._pickle_task()[0] != before


@pytest.mark.slow
def test_a_large_task_is_sent_anew_to_a_cluster_all_of_whose_workers_left(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
    monkeypatch.setattr(processes, "LARGE", 100)
    one = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**one) as cluster,
        Dask(HostIdentity(), cluster.scheduler_address) as task,
        distributed.Client(cluster) as client,
    ):
        assert same(task.evaluate(GENOTYPES, KEY), EXPECTED)
        client.retire_workers(close_workers=True, remove=True)
        cluster.scale(0)
        while client.scheduler_info()["workers"]:
            time.sleep(0.1)
        cluster.scale(1)
        assert same(task.evaluate(GENOTYPES, KEY), EXPECTED)


def test_without_the_extra_dask_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"brns\[dask\]"):
        Dask(HostIdentity(), "tcp://10.0.0.1:8786").evaluate(GENOTYPES, KEY)


def test_an_error_of_a_cluster_says_what_to_do():
    class Cluster(Executor):
        def submit(self, *_):
            raise WorkerError("the task raised ModuleNotFoundError: No module named 'spread'")

    task = Dask(HostIdentity(), "tcp://10.0.0.1:8786")
    task.executor.opened = Cluster()
    message = r"PYTHONPATH of the workers.*named 'spread'"
    with pytest.raises(EvaluationError, match=message) as raised:
        brns.NoveltySearch(task).init(KEY)
    assert not hasattr(raised.value, "__notes__")  # as of how to leave out individuals


@pytest.mark.slow
def test_a_cluster_without_workers_is_told_and_not_waited_for_for_ever(monkeypatch, capsys):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("brns.tasks.processes.PATIENCE", 1.0)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Dask(HostIdentity(), cluster.scheduler_address) as task,
        pytest.raises(TimeoutError, match="0/1 workers"),
    ):
        task.evaluate(GENOTYPES, KEY)
    assert capsys.readouterr().err.count("waiting for workers (0 so far)") == 1


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_bits_though_a_worker_is_killed(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
    two = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**two) as cluster,
        Dask(HostIdentity(), cluster.scheduler_address, timeout=60.0) as spread,
        distributed.Client(cluster) as client,
    ):

        def on(task):
            return eqx.tree_at(lambda s: s.task, spread, task)

        assert same(spread.evaluate(GENOTYPES, KEY), EXPECTED)
        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        assert same(on(Windy()).evaluate(GENOTYPES, KEY), alone(Windy()))
        once = on(Faulty("dies", flag=str(tmp_path / "died")))
        assert same(once.evaluate(GENOTYPES, KEY), EXPECTED)
        told = {"dies": "ended its process 2 times", "raises": "ZeroDivisionError: the floor"}
        for fault, message in told.items():
            with pytest.raises(EvaluationError, match=f"individuals 8 to 11 of 26 .*{message}"):
                on(Faulty(fault)).evaluate(GENOTYPES, KEY)


KILLED = """
import jax, small_tasks, subprocess, sys
from brns.tasks.workers import Processes

class Simulated(small_tasks.Faulty):
    def evaluate(self, genotypes, key):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        return super().evaluate(genotypes, key)

task = Processes(Simulated("hangs", flag="{flag}"), workers=1)
genotypes = task.genotype_space.uniform(jax.random.key(0), 8).at[:, 0].set(0.9)
task.evaluate(genotypes, jax.random.key(0))
"""


@pytest.mark.slow
def test_a_busy_worker_and_its_simulator_end_with_a_search_that_was_killed(tmp_path):
    process = python("-c", KILLED.format(flag=tmp_path / "met"))
    waited((tmp_path / "met").exists)
    process.kill()
    process.communicate(timeout=120)  # its output ends when all that it started have ended


ENDLESS = """
import jax, threading
from brns import Processes
from small_tasks import HostIdentity
class Endless(HostIdentity):
    def evaluate(self, genotypes, key):
        threading.Thread(target=threading.Event().wait).start()
        return super().evaluate(genotypes, key)
Processes(Endless(), 1).evaluate(jax.numpy.zeros((4, 5)), jax.random.key(0))
"""


@pytest.mark.slow
def test_a_thread_of_a_task_that_never_ends_does_not_hold_a_worker():
    assert finished(python("-c", ENDLESS)).returncode == 0


def waited(condition, seconds=120):
    for _ in range(10 * seconds):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} seconds")
