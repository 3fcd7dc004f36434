"""What evaluations change, such as a counter or a cache, is no edit of a user's own code."""

import contextlib
from functools import partial

import pytest
from modules import Own, loaded, typed
from searches import search as make

import brns
from brns import RecordError
from brns.runs.metadata import read_sources
from brns.settings import edits
from brns.settings.edits import diff_code_by_name

search = partial(make, estimator=brns.PopulationKNN(k=2))

LAZY = """
import functools
import aside, jax, numpy as np
model = jitted = None
table, log = {}, []
class Robot:
    mass = None
    def __init__(self, gain):
        self.weights, self.gain, self.log = None, gain, []
    @functools.cached_property
    def cached(self):
        return np.ones(3)
    def run(self, x):
        if self.weights is None:
            self.weights = np.ones(3)
        type(self).mass = 1.0
        self.log.append(self.gain)
        return self.weights[0] * x
ROBOT = Robot(1.0)
def keep(x, cache={}):
    return cache.setdefault("x", ROBOT.cached[0]) * x
def use(x):
    global model, jitted
    if model is None:
        model, jitted = 1.0, jax.jit(lambda x: x * 1.0)
        table["load"] = lambda x: x
    log.append(1)
    aside.load()
    return keep(table["load"](ROBOT.run(model * np.asarray(jitted(x)))))
"""


def test_what_evaluations_keep_is_known_as_it_began(tmp_path, monkeypatch):
    """A cache that `check_task`, or an earlier run of the process, has filled is as it was."""
    counting = "table = 0\ndef load():\n    global table\n    table += 3\n"
    loaded(tmp_path, "aside", counting, monkeypatch)
    task = Own(loaded(tmp_path, "own", LAZY, monkeypatch).use)
    before = read_sources(search(task))
    brns.check_task(task)
    assert diff_code_by_name(before.texts, read_sources(search(task))) == {}
    brns.run(search(task), 1, out=tmp_path / "run")
    assert diff_code_by_name(before.texts, read_sources(search(task))) == {}
    brns.resume(tmp_path / "run", 2, search=search(task))
    for was, now, name in (
        ("Robot(1.0)", "Robot(2.0)", "own.ROBOT.gain"),
        ("[0] * x", "[0] + x", "own.Robot.run"),
    ):
        edited = Own(loaded(tmp_path, "own", LAZY.replace(was, now), monkeypatch).use)
        assert name in diff_code_by_name(before.texts, read_sources(search(edited)))


COUNTERS = """
import types
import numpy as np
buffer, seen = np.zeros(3), {"gain": 2.0}
pool, spare, lazy = {"a": 1}, 1.0, None
count = 0
class Held:
    calls = 0
class Robot:
    __slots__ = ("steps", "mass")
    def __init__(self):
        self.steps, self.mass = 0, 1.0
robot, inner = Robot(), types.SimpleNamespace(log=[])
def tick(counter, cache, key):
    counter[0] += 1
    cache[key] = counter[0]
def closed():
    calls = 0
    def add():
        nonlocal calls
        calls += 1
    return add
add = closed()
def use(x):
    global count, lazy, spare
    count += 1
    pool.clear()
    lazy, spare = types.ModuleType("lazy"), np.random.default_rng(0)
    seen.update(dict.fromkeys(range(99), 0) | {f"x{row}": 0 for row in range(99)})
    Held.calls += 1
    robot.steps += robot.mass
    inner.log.append(count)
    tick(buffer, seen, count)
    add()
    return x
"""


def test_what_evaluations_change_is_no_code_however_it_is_changed(tmp_path, keep_compiled):
    """By a helper in its argument, in a closure, in an object; here and in another process. A
    global that functions assign is none at all."""

    def made(text):
        return search(Own(typed(text)))

    first, out = made(COUNTERS), tmp_path / "run"
    (record,) = brns.run(first, 1, out=out)
    changing = {"buffer", "seen", "Held.calls", "inner.log", "robot.steps", "add.calls", "pool"}
    found = {name.removeprefix("closed.<locals>.") for name in record.metadata.changing}
    assert {name for name in found if not name.startswith("seen.x")} == changing
    brns.resume(out, 2, search=first)
    anew = made(COUNTERS.replace("count = 0", "count = 7").replace("zeros", "ones"))
    brns.resume(out, 3, search=anew)
    edited = made(COUNTERS.replace("self.steps, self.mass = 0, ", "self.steps, self.mass = 0, 3"))
    with pytest.raises(RecordError, match=r"-robot.mass = .*\n *\+robot.mass = 3"):
        brns.resume(out, 4, search=edited)


def test_a_file_that_a_task_writes_is_no_edit_of_a_fork_either(tmp_path, monkeypatch):
    """It is not there when the run begins, and has another line after each evaluation."""
    monkeypatch.chdir(tmp_path)
    writes = "def use(x):\n    print(len(x), file=open('trace.csv', 'a'))\n    return x"
    mine = search(Own(typed(writes)))
    (record,) = brns.run(mine, 1, out="run")
    monkeypatch.setattr(edits, "CHANGED_CODE", set())  # as in another process
    assert brns.fork(record, 1, mine, out="fork", generations=2).metadata.forked.changed == {}
    for generations in (2, 3):
        (forked,) = brns.resume("fork", generations, search=mine)
    assert forked.metadata.changing == ["file trace.csv"]


class Lazy:
    """A task that makes public attributes when it is first evaluated, and drops others."""

    genotype_space = brns.Box([-1.0] * 5, [1.0] * 5)
    behavior_space = brns.Box([-1.0] * 2, [1.0] * 2)
    traceable = False

    def __init__(self):
        self.fresh = True

    def evaluate(self, genotypes, key):
        self.table, self.calls = [1.0], len(genotypes)
        vars(self).pop("fresh", None)
        return brns.Evaluation(genotypes[:, :2])


@pytest.mark.slow
def test_an_attribute_that_evaluations_make_or_drop_is_no_setting(tmp_path):
    task, out = Lazy(), tmp_path / "run"
    with pytest.warns(UserWarning, match="begin such names with _"):
        brns.check_task(task)
    brns.run(search(task), 1, out=out)
    for chunk in (None, 2):
        made = [search(brns.Chunked(Lazy(), chunk=chunk)) for _ in range(2)]
        brns.run(made[0], 1, out=tmp_path / f"{chunk}")
        brns.resume(tmp_path / f"{chunk}", 2, search=made[1])
    brns.resume(out, 2, search=search(Lazy()))


class Late(Lazy):
    """A task whose attribute is first changed after the founders."""

    def __init__(self):
        self.calls, self.found = 0, None

    def evaluate(self, genotypes, key):
        self.calls += 1
        self.found = 1.0 if self.calls > 1 else None
        return brns.Evaluation(genotypes[:, :2])


@pytest.mark.parametrize("stops", [False, True])
def test_an_attribute_that_evaluations_change_late_is_no_setting(stops, tmp_path):
    def until(saved):
        if stops and saved.number == 1:
            raise KeyboardInterrupt
        return False

    late = make(Late())
    with contextlib.suppress(KeyboardInterrupt):
        brns.run(late, 2, out=tmp_path / "run", until=until)
    (record,) = brns.resume(tmp_path / "run", 3, search=late)
    assert record.last_generation == 3


def test_names_hold_no_address():
    """Of what a dictionary has under functions, and of sets of functions, in any order."""
    text = """
class Thing:
    def __init__(self, gain):
        self.gain = gain
def first(x): return x
def second(x): return x
held = {first: Thing(1.0), second: Thing(2.0)}
both = {first, second, Thing}
things = {Thing(row) for row in range(9)}
def use(x):
    return held, both, things
"""
    texts = [read_sources(search(Own(typed(text)))).texts for _ in range(2)]
    assert texts[0] == texts[1]
