"""The user's own code: a run knows by which it was made,
and goes on with other code only if it is told to."""

import importlib.util
import json
import linecache
import sys

import gymnasium
import pytest
from searches import search
from shell import call
from worlds import HostIdentity

import brns
from brns import Record, RecordError
from brns.metrics.measures import summary
from brns.runs.sources import Source, difference

CODE = """
import argparse
import dataclasses
import functools
import numpy as np
import brns
import aside

GAIN = 0.5
TABLE = np.arange(3.0)
counted = 0
given = argparse.Namespace(power=0, generations=3)


@dataclasses.dataclass
class Ground:
    width: float = 1.0

    def __repr__(self):
        return super().__repr__()


GROUND = Ground(3.0)
CONFIG = {"offset": [0.0, 1.0]}
SEEN = {}


def helper(genotypes):
    global counted
    counted += 1
    SEEN[counted] = len(genotypes)
    return genotypes[:, :2] * GAIN + given.power * GROUND.width + TABLE[0] + CONFIG["offset"][0]


class Base:
    genotype_space = brns.Box([-1.0] * 5, [1.0] * 5)
    behavior_space = brns.Box([-1.0] * 2, [1.0] * 2)
    traceable = False
    scale = 1.0

    def moved(self, genotypes):
        return helper(genotypes) * self.scale


class Task(Base):
    def __init__(self):
        self.behavior = functools.partial(measured, power=1)
        self._log = []
        self.score = Scorer()

    def evaluate(self, genotypes, key):
        self._log.append(len(genotypes))
        genotypes = np.asarray(genotypes)
        return brns.Evaluation(self.behavior(self.moved(genotypes)) + aside.offset())


POWER = 1


def measured(points, power, *, shift=GAIN):
    return points**power + 0 * shift


class Scorer:
    def __call__(self, points, factor=POWER):
        return points * factor


def made():
    return brns.NoveltySearch(Task(), brns.PopulationKNN(k=2), 4, 4, brns.PolynomialMutation())
"""
ASIDE = "def offset():\n    return 0.0\n\n\ndef unused():\n    return 1\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes the modules `own` and `aside` with some text replaced,
    and gives `own` imported anew."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(before="", after=""):
        for name, text in (("aside", ASIDE), ("own", CODE)):
            assert not before or before in CODE + ASIDE
            (tmp_path / f"{name}.py").write_text(text.replace(before, after))
            spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, name, module)
            linecache.checkcache()
            exec(compile((tmp_path / f"{name}.py").read_text(), spec.origin, "exec"), vars(module))
        return module

    return write


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("self.moved(genotypes))", "self.moved(genotypes)) / 2", "Task.evaluate"),
        ("* self.scale", "- self.scale", "Base.moved"),
        ("scale = 1.0", "scale = 2.0", "Base.scale"),
        ("[-1.0] * 2", "[-2.0] * 2", "Base.behavior_space"),
        ("+ TABLE[0]", "- TABLE[0]", "helper"),
        ("* GAIN", "/ GAIN", "helper"),
        ("np.arange(3.0)", "np.ones(3)", "TABLE"),
        ("[0.0, 1.0]", "[0.5, 1.0]", "CONFIG"),
        ("[0.0, 1.0]", "[0.0] * 9999", "CONFIG"),
        ("points**power", "points * power", "measured"),
        ("points * factor", "points + factor", "Scorer.__call__"),
        ("POWER = 1", "POWER = 2", "Scorer.__call__.factor"),
        ("return 0.0", "return 0.1", "offset"),
    ],
)
def test_an_edit_anywhere_in_what_a_task_uses_is_seen(written, before, after, name):
    first = Source(written().made()).texts
    edited = Source(written(before, after).made())
    assert list(difference(first, edited)) == [name]
    assert len("".join(edited.texts.values())) < 3000


WAYS = {
    "a partial's arguments": "use = functools.partial(np.clip, a_min=0, a_max=GAIN)",
    "a package's function": "use = np.sin if GAIN == 1 else np.cos",
    "a list in a closure": """def outer(gains):
    return lambda x: gains[0] * x
use = outer([GAIN])""",
    "a decorator": """def doubled(function):
    @functools.wraps(function)
    def wrapper(x):
        return GAIN * function(x)
    return wrapper
@doubled
def use(x):
    return x""",
    "a dataclass": """@dataclasses.dataclass
class Settings:
    gain: float = 0.0
held = Settings(GAIN)
def use(x):
    return held.gain * x""",
    "an object that counts": """class Settings:
    def __init__(self, gain):
        self.gain = gain
        self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return self.gain * x
held = Settings(GAIN)
def use(x):
    return held(x)""",
    "a namespace": "held = types.SimpleNamespace(gain=GAIN)\ndef use(x):\n    return held.gain * x",
    "an object in a task's": """class Arm:
    __slots__ = ("gain",)
class Robot:
    def __init__(self):
        self.arm = Arm()
        self.arm.gain = GAIN
use = functools.partial(max, Robot())""",
    "a default of a dataclass that is made": """@dataclasses.dataclass
class Settings:
    gain: float = GAIN
def use(x):
    return Settings().gain * x""",
    "a default that is made": """class Settings(eqx.Module):
    gains: list = dataclasses.field(default_factory=lambda: [literal])
def use(x):
    return Settings().gains[0] * x""",
    "which function": """def half(x):
    return x / 2
def twice(x):
    return x * 2
first, second = (half, twice)[:: 1 if GAIN == 1 else -1]
def use(x):
    return first(x) - second(x)""",
    "exec": """names = {}
exec("def use(x):\\n    return x * literal", names)
use = names["use"]""",
    "a setter": """class Arm:
    def set_gain(self, gain):
        self._gain = gain * literal
    gain = property(None, set_gain)
def use(x):
    Arm().gain = x""",
    "a partial method": """class Scale:
    def scaled(self, gain, x):
        return gain * x
    call = functools.partialmethod(scaled, GAIN)
def use(x):
    return Scale().call(x)""",
    "an attribute of a function": "def use(x):\n    return use.gain * x\nuse.gain = GAIN",
    "the default of a dictionary": """gains = collections.defaultdict(lambda: literal)
def use(x):
    return gains[0] * x""",
    "a fraction": "held = fractions.Fraction(GAIN)\ndef use(x):\n    return held * x",
    "the type of an array": """held = np.array([1, 2], ("int32", "uint8")[GAIN - 1])
def use(x):
    return held - 3""",
    "a list that holds itself": """held = [GAIN]
held.append(held)
def use(x):
    return held[0] * x""",
    "objects in a list": """class Leg:
    def __init__(self, gain):
        self.gain = gain
legs = [Leg(0.0), Leg(GAIN)]
def use(x):
    return legs[1].gain * x""",
    "a method of an object": """class Scale:
    def __init__(self, gain):
        self.gain = gain
    def __call__(self, x):
        return self.gain * x
use = Scale(GAIN).__call__""",
    "a method of a tuple": """class Pair(typing.NamedTuple):
    first: float = 0.0
    def scaled(self):
        return literal * self.first
pair = Pair()
def use(x):
    return pair.scaled()""",
    "numpy.vectorize": "@np.vectorize\ndef use(x):\n    return x * literal",
    "jax.jit of a partial": "use = jax.jit(functools.partial(lambda x, y: x * literal, y=1))",
    "an implementation by type": """@functools.singledispatch
def use(x):
    return x
@use.register
def other(x: int):
    return x * literal""",
    "a metaclass": """class Meta(type):
    @property
    def gain(cls):
        return literal
class Held(metaclass=Meta):
    pass
def use(x):
    return Held.gain * x""",
    "what a C function is made of": "use = operator.itemgetter(GAIN)",
    "a method of a list": "use = [GAIN].__getitem__",
    "a partial below decorators": "use = jax.jit(jax.vmap(functools.partial(max, GAIN)))",
    "an argument of the program": """given = argparse.Namespace(gain=GAIN)
def use(x):
    return given.gain * x""",
    "an object of a package": """made = gymnasium.make("Pendulum-v1", g=GAIN)
def use(x):
    return made.step(x)""",
    "a list of them, in a class": """class Arm:
    parts = [np.random.default_rng(GAIN)]
def use(x):
    return Arm.parts[0].normal(x)""",
    "an iterator": """if True:
    steps = itertools.count(GAIN)
def use(x):
    return next(steps)""",
    "a generator's function": """def count():
    yield literal
steps = count()
def use(x):
    return next(steps)""",
    "a field with a default": """class Settings(pydantic.BaseModel):
    gain: float = GAIN
settings = Settings()
def use(x):
    return settings.gain * x""",
    "a registered environment": """class Env(gymnasium.Env):
    def step(self, action):
        return literal
gymnasium.register("Edited-v0", entry_point=Env)
use = None""",
    "its arguments": """class Env(gymnasium.Env):
    pass
gymnasium.register("Edited-v0", entry_point=Env, kwargs={"gain": GAIN})
use = None""",
}


class Registered(HostIdentity):
    """A task that uses what is registered, as a `GymnasiumTask` does."""

    function: object = None

    def __init__(self, function):
        self.function = function

    @property
    def spec(self):
        return gymnasium.registry.get("Edited-v0")


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("way", WAYS)
def test_an_edit_is_seen_through_whatever_leads_to_it(way, tmp_path, monkeypatch):
    def texts(gain):
        name = f"way{gain}"
        file = tmp_path / f"{name}.py"
        begin = "import argparse, collections, dataclasses, fractions, functools, itertools\n"
        begin += "import operator, types, typing\n"
        begin += "import equinox as eqx, gymnasium, jax, numpy as np, pydantic\n"
        code = WAYS[way].replace("literal", str(gain)).replace("GAIN", str(gain))
        file.write_text(f"{begin}{code}\ndef called(x):\n    return use(x)\n")
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        first = Source(search(Registered(module.called)))
        return first

    first, second = texts(1), texts(2)
    gymnasium.registry.pop("Edited-v0", None)
    assert difference(first.texts, second)
    assert "called" not in difference(first.texts, second)


COUNTERS = """
import types
import numpy as np
buffer, seen = np.zeros(3), {}
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
    global count
    count += 1
    Held.calls += 1
    robot.steps += robot.mass
    inner.log.append(count)
    tick(buffer, seen, count)
    add()
    return x
"""


def test_what_evaluations_change_is_no_code_however_it_is_changed(tmp_path):
    """By a helper in its argument, in a closure, in an object; here and in another process."""

    def made(text):
        names = {"__name__": "typed"}
        exec(text, names)
        return search(Calling(names["use"]), brns.PopulationKNN(k=2))

    first = made(COUNTERS)
    (record,) = brns.run(first, 1, out=tmp_path / "run", progress=False)
    changing = {"count", "buffer", "seen", "Held.calls", "inner.log", "robot.steps", "add.calls"}
    found = {name.removeprefix("closed.<locals>.") for name in record.metadata.changing}
    assert found == changing
    brns.resume(tmp_path / "run", 2, search=first, progress=False)
    anew = made(COUNTERS.replace("count = 0", "count = 7").replace("zeros", "ones"))
    brns.resume(tmp_path / "run", 3, search=anew, progress=False)
    other = made(COUNTERS.replace("0, 1.0", "0, 2.0"))
    with pytest.raises(RecordError, match=r"-robot.mass = 1.0\n *\+robot.mass = 2.0"):
        brns.resume(tmp_path / "run", 4, search=other, progress=False)


def test_a_global_of_the_name_of_an_attribute_is_not_read():
    names = {"__name__": "typed", "seed": 3}
    exec("def use(x):\n    return x.seed", names)
    assert "seed" not in Source(search(Own(names["use"]))).texts


def test_an_object_is_known_by_the_lines_that_assign_it(tmp_path, monkeypatch):
    """In the module from which another imports it, or in the last cell of a notebook."""

    def lines(**module):
        exec("def use(x):\n    return next(steps)", module)
        return Source(search(Own(module["use"]))).texts["steps"]

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stepping.py").write_text("import itertools\nsteps = itertools.count(2)  # two")
    imported = importlib.import_module("stepping").steps
    assert lines(__name__="typed", steps=imported) == "steps = itertools.count(2)\n"
    cells = ["steps = iter([1])", "steps = iter( [2] )", "steps = = 3", "next(steps)"]
    notebook = {"__name__": "__main__", "get_ipython": None, "In": cells}
    assert lines(**notebook, steps=iter([2])) == "steps = iter([2])\n"


def test_a_constant_is_seen_wherever_it_is_read(written):
    """As a global, and as the default of an argument."""
    first = Source(written().made()).texts
    edited = Source(written("GAIN = 0.5", "GAIN = 0.4").made())
    assert difference(first, edited) == {
        "GAIN": "@@ -1 +1 @@\n-GAIN = 0.5\n+GAIN = 0.4",
        "measured.shift": "@@ -1 +1 @@\n-measured.shift = 0.5\n+measured.shift = 0.4",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return 1\n", "return 2\n"),  # nobody calls it
        ("width: float = 1.0", "width: float = 2.0"),  # a default of an object that was given it
        ("generations=3", "generations=4"),  # an argument of the program that no function reads
        ("return points**power", '"""To the power."""\n    return points**power'),
        ("return points**power", "# to the power\n\n    return (points ** power)"),
        ("def helper(genotypes):", "def helper(genotypes: np.ndarray) -> np.ndarray:"),
    ],
)
def test_what_means_the_same_is_the_same(written, before, after):
    first = Source(written().made()).texts
    assert difference(first, Source(written(before, after).made())) == {}


def test_code_without_a_file_is_known_by_what_was_compiled():
    def typed(gain):
        text = f"def f(x):\n    return x * {gain}\n"
        functions = {"__name__": "__main__"}
        exec(text, functions)
        return search(Own(functions["f"]))

    first = Source(typed(2)).texts
    assert difference(first, Source(typed(2))) == {}
    assert list(difference(first, Source(typed(3)))) == ["f"]
    lambdas = [Own(lambda x: x + 1), Own(lambda x: x + 2)]
    texts = [Source(search(each)).texts for each in lambdas]
    assert texts[0] != texts[1]
    assert Source(brns.NoveltySearch(brns.PlanarArm())).texts == {}


class Own(HostIdentity):
    """With a function of anybody's."""

    function: object = None

    def __init__(self, function):
        self.function = function


class Calling(Own):
    """With such a function, which it calls."""

    def evaluate(self, genotypes, key):
        return super().evaluate(self.function(genotypes), key)


def test_an_edited_task_does_not_go_on_unless_it_is_told_to(written, tmp_path):
    """Settings and genotypes of the record can be read with the new code all the same."""
    out = tmp_path / "run"
    brns.run(written().made(), 2, out=out, progress=False)
    edited = written("* self.scale", "- self.scale").made()
    before = (out / "run.json").read_bytes()
    for go_on in (
        lambda: brns.run(edited, 4, out=out, exist="resume", progress=False),
        lambda: brns.run(edited, 2, out=out, exist="resume", progress=False),
        lambda: brns.resume(out, 4, search=edited, progress=False),
    ):
        with pytest.raises(RecordError, match=r"Base.moved \(.*own.py\)") as refused:
            go_on()
        assert "-    return helper(genotypes) * self.scale" in str(refused.value)
        assert "+    return helper(genotypes) - self.scale" in str(refused.value)
        assert "accept_edits=True (--accept-edits)" in str(refused.value)
    assert (out / "run.json").read_bytes() == before
    record = Record(out, edited)
    assert summary(record)["generations"] == 2
    assert record.column("offspring.genotype").shape == (2, 4, 5)
    (record,) = brns.resume(out, 4, search=edited, accept_edits=True, progress=False)
    (edit,) = record.metadata.edits
    assert (record.last, edit.after, list(edit.before)) == (4, 2, ["Base.moved"])
    (record,) = brns.resume(out, 5, search=edited, progress=False)  # that is its code now
    assert "Base.moved" in json.loads((out / "run.json").read_text())["sources"]


def test_a_fork_with_edited_code_says_so(written, tmp_path):
    brns.run(written().made(), 2, out=tmp_path / "run", progress=False)
    edited = written("* self.scale", "- self.scale").made()
    copy = brns.fork(tmp_path / "run", 2, edited, out=tmp_path / "fork", generations=3)
    assert list(copy.metadata.forked.changed) == ["the code of Base.moved"]
    (record,) = brns.resume(copy, search=edited, progress=False)
    assert record.last == 3


def test_the_command_line_goes_on_with_edited_code_if_it_is_told_to(written, tmp_path):
    written()
    call("run", "own:made", "--generations", 1, "--out", "run", folder=tmp_path)
    written("* self.scale", "- self.scale")
    again = ["resume", "run", "--generations", 2, "--search", "own:made"]
    with pytest.raises(AssertionError, match="--accept-edits"):  # it ends with another status
        call(*again, folder=tmp_path)
    call(*again, "--accept-edits", folder=tmp_path)
    assert Record(tmp_path / "run").last == 2
