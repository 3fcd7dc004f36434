"""The user's own code: a run knows by which it was made,
and goes on with other code only if it is told to."""

import importlib.util
import linecache
import os
import subprocess
import sys

import gymnasium
import pytest
from searches import search
from shell import call
from worlds import HostIdentity

import brns
from brns import Record, RecordError
from brns.metrics.measures import summary
from brns.runs.metadata import read_sources
from brns.settings.sources import find_edits

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


def measured(points, power, *, shift=GAIN):
    return points**power + 0 * shift


POWER = 1


class Scorer:
    def __call__(self, points, factor=POWER):
        return points * factor


def made():
    mutate = brns.PolynomialMutation(eta=2.0, rate=0.5)
    return brns.NoveltySearch(Task(), brns.PopulationKNN(k=2), 8, 6, mutate)
"""
ASIDE = "def offset():\n    return 0.0\n\n\ndef unused():\n    return 1\n"


def loaded(folder, name, text, monkeypatch):
    """A module with this text, imported anew."""
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    linecache.checkcache()
    exec(compile(text, file, "exec"), vars(module))
    return module


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes the modules `aside` and `own` with some text replaced,
    and gives `own`."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(before="", after=""):
        assert before in CODE + ASIDE
        loaded(tmp_path, "aside", ASIDE.replace(before, after), monkeypatch)
        return loaded(tmp_path, "own", CODE.replace(before, after), monkeypatch)

    return write


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("self.moved(genotypes))", "self.moved(genotypes)) / 2", "Task.evaluate"),
        ("* self.scale", "- self.scale", "Base.moved"),
        ("scale = 1.0", "scale = 2.0", "Base.scale"),
        ("[-1.0] * 2", "[-2.0] * 2", "Base.behavior_space"),
        ("np.arange(3.0)", "np.ones(3)", "TABLE"),
        ("Ground(3.0)", "Ground(4.0)", "GROUND.width, GROUND"),
        ("[0.0, 1.0]", "[0.0] * 9999", "CONFIG.offset"),
        ("points**power", "points * power", "measured"),
        ("POWER = 1", "POWER = 2", "Scorer.__call__.factor"),
        ("return 0.0", "return 0.1", "offset"),
        ("GAIN = 0.5", "GAIN = 0.4", "measured.shift, GAIN"),
    ],
)
def test_an_edit_anywhere_in_what_a_task_uses_is_seen(written, before, after, name):
    first = read_sources(written().made()).texts
    edited = read_sources(written(before, after).made())
    assert ", ".join(find_edits(first, edited)) == name
    assert len("".join(edited.texts.values())) < 3000


BEGIN = """
import argparse, collections, dataclasses, fractions, functools, itertools, operator, types, typing
import equinox as eqx, gymnasium, jax, numpy as np, pydantic

class Gain:
    def __init__(self, gain):
        self.gain = gain
    def __call__(self, x):
        return self.gain * x
def called(x):
    return use(x)
"""
WAYS = {
    "a partial's arguments": "use = functools.partial(np.clip, a_min=0, a_max=GAIN)",
    "a package's function": "use = np.sin if GAIN == 1 else np.cos",
    "a list in a closure": """def outer(gains):
    return lambda x: gains[0] * x
use = outer([GAIN])""",
    "a namespace": "held = types.SimpleNamespace(gain=GAIN)\ndef use(x):\n    return held.gain * x",
    "an object in a task's": """class Robot:
    __slots__ = ("arm",)
    def __init__(self):
        self.arm = Gain(GAIN)
use = functools.partial(max, Robot())""",
    "a default of a dataclass that is made": """@dataclasses.dataclass
class Settings:
    gain: float = GAIN
def use(x):
    return Settings().gain * x""",
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
    "objects in a list": """gains = [Gain(0.0), Gain(GAIN)]
def use(x):
    return gains[1](x)""",
    "a method of an object": "use = Gain(GAIN).__call__",
    "a method of a tuple": """class Pair(typing.NamedTuple):
    first: float = 0.0
    def scaled(self):
        return literal * self.first
pair = Pair()
def use(x):
    return pair.scaled()""",
    "numpy.vectorize": "@np.vectorize\ndef use(x):\n    return x * literal",
    "a partial below decorators": "use = jax.jit(jax.vmap(functools.partial(max, GAIN)))",
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
    "the order of base classes": """class First:
    gain = 1
class Second:
    gain = 2
class Both(*((First, Second)[::3 - 2 * GAIN])):
    pass
def use(x):
    return Both.gain * x""",
    "a default with an underscore": "use = lambda x, _gain=GAIN: _gain * x",
    "how an object is made": """class Made:
    def __new__(cls):
        self = super().__new__(cls)
        self.gain = literal
        return self
def use(x):
    return Made().gain * x""",
    "another package of the same name": """import numpy
library = (numpy, jax.numpy)[GAIN - 1]
def use(x):
    return library.sin(x)""",
    "a method of a list": "use = [GAIN].__getitem__",
    "an argument of the program": """given = argparse.Namespace(gain=GAIN)
def use(x):
    return given.gain * x""",
    "an object of a package": """if True:
    made = gymnasium.make("Pendulum-v1", g=GAIN)
def use(x):
    return made.step(x)""",
    "a list of them, in a class": """class Arm:
    parts = [np.random.default_rng(GAIN)]
def use(x):
    return Arm.parts[0].normal(x)""",
    "an environment of one's own in a package's": """class Env(gymnasium.Env):
    def __init__(self, gain):
        self.gain, self.steps = gain, 0
    def step(self, action):
        self.steps += 1
        return self.gain
made = gymnasium.wrappers.TimeLimit(Env(GAIN), 9)
def use(x, made=made):
    return made.step(x)""",
    "an argument of a package's environment": """class World:
    def __init__(self, gain):
        self.made = gymnasium.make("Pendulum-v1", g=gain)
world = World(GAIN)
def use(x):
    return world.made.step(x)""",
    "a method of a whole number": """import enum
class Ground(enum.IntEnum):
    STEEP = 1
    def slope(self):
        return literal
def use(x, ground=Ground.STEEP):
    return ground.slope() * x""",
    "an array of functions": "use = functools.partial(max, np.array([lambda x: literal * x]))",
    "a global named as another's state": """steps = GAIN
class Sim:
    def __init__(self):
        self.steps = 0
    def run(self, x):
        self.steps += 1
        return x * steps
SIM = Sim()
def use(x):
    return SIM.run(x)""",
    "what a method fills in": """class Robot:
    def __init__(self, mass):
        self.mass = None
        self.reset(mass)
    def reset(self, mass):
        self.mass = mass
ROBOT = Robot(GAIN)
def use(x):
    return ROBOT.mass * x""",
    "a dictionary that is updated": """CONFIG = {"calls": 0}
CONFIG.update(gain=GAIN)
def use(x):
    CONFIG["calls"] += 1
    return CONFIG["gain"] * x""",
    "a tuple in an environment of one's own": """class Env(gymnasium.Env):
    def __init__(self, gains):
        self.gains = gains
made = Env((GAIN, 1.0))
def use(x):
    return made.gains[0] * x""",
    "one of equal values": """class Leg:
    def __init__(self, length):
        self.length = length
class Robot:
    def __init__(self, *legs):
        self._legs = legs
robot = Robot(Leg(1), Leg(2), Leg(GAIN))
def use(x):
    return robot._legs[2].length * x""",
    "a word like a temporary folder's": """KIND = "tmp_gravGAIN0"
def use(x):
    return len(KIND) * x""",
    "a private attribute of a global": """class Robot:
    def __init__(self, mass):
        self._mass = mass
ROBOT = Robot(GAIN)
def use(x):
    return ROBOT._mass * x""",
    "a dictionary with dots": """class Config(dict):
    __getattr__ = dict.__getitem__
config = Config(gain=GAIN)
def use(x):
    return config.gain * x""",
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
"""what leads from a function `called` to a number: GAIN as a value, `literal` within a function"""


class Own(HostIdentity):
    """A task with a function of anybody's, which it calls."""

    function: object = None

    def __init__(self, function):
        self.function = function

    def evaluate(self, genotypes, key):
        return super().evaluate(self.function(genotypes), key)


class Registered(Own):
    """A task that uses what is registered, as a `GymnasiumTask` does."""

    @property
    def spec(self):
        return gymnasium.registry.get("Edited-v0")


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("way", WAYS)
def test_an_edit_is_seen_through_whatever_leads_to_it(way, tmp_path, monkeypatch):
    sources = []
    for gain in ("1", "2"):
        text = BEGIN + WAYS[way].replace("literal", gain).replace("GAIN", gain)
        module = loaded(tmp_path, f"way{gain}", text, monkeypatch)
        sources.append(read_sources(search(Registered(module.called))))
    gymnasium.registry.pop("Edited-v0", None)
    edited = find_edits(sources[0].texts, sources[1])
    assert edited
    assert "called" not in edited


@pytest.mark.parametrize(
    ("package", "statement", "name"),
    [
        ("", "import one", "one"),
        ("", "from one import helper", "one"),
        ("", "import two.one as name", "two.one"),
        ("", "from two import one", "two.one"),
        ("two", "from . import one", "two.one"),
        ("two.inner", "from ..two.one import helper", None),
        ("two.inner", "from ..one import helper", "two.one"),
        ("", "import three", "one"),
        ("", "def inner():\n        from two.one import helper", "two.one"),
        ("", "global one\n    import one", "one"),
    ],
)
def test_an_edit_of_what_a_function_imports_is_seen(
    package, statement, name, tmp_path, monkeypatch
):
    """Nothing is imported for it."""
    monkeypatch.syspath_prepend(tmp_path)
    use = typed(f"def use(x):\n    {statement}\n    return x\n", __package__=package)
    task = Own(use)
    (tmp_path / "two").mkdir()
    (tmp_path / "two/__init__.py").touch()
    (tmp_path / "three.py").write_text("import one\n")
    before = {}
    for gain in ("1", "1.5"):
        for file in (tmp_path / "one.py", tmp_path / "two/one.py"):
            file.write_text(f"raise SystemExit\ndef helper(x):\n    return x * {gain}\n")
        now = read_sources(search(task))
        edited = find_edits(before, now)
        before = now.texts
    assert list(edited) == ([name] if name else [])
    assert not {"one", "two", "three"} & sys.modules.keys()


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
    assert find_edits(before.texts, read_sources(search(task))) == {}
    (record,) = brns.run(search(task), 1, out=tmp_path / "run")
    assert record.metadata.sources == before.texts
    assert find_edits(before.texts, read_sources(search(task))) == {}
    brns.resume(tmp_path / "run", 2, search=search(task))
    for was, now, name in (
        ("= None\nt", "= 3\nt", "model"),
        ("mass = None", "mass = 2.0", "Robot.mass"),
        ("Robot(1.0)", "Robot(2.0)", "ROBOT.gain"),
        ("table, log = {}, []", "table, log = {1: 2}, []", "table"),
    ):
        edited = Own(loaded(tmp_path, "own", LAZY.replace(was, now), monkeypatch).use)
        assert name in find_edits(before.texts, read_sources(search(edited)))


def test_where_a_project_lies_is_no_code(tmp_path, monkeypatch):
    text = """
import pathlib, tempfile
HERE = pathlib.Path(__file__).parent
TEXT, SCRATCH = f"{HERE}/robot.xml", tempfile.mkdtemp()
def use(x):
    return HERE, TEXT, SCRATCH
"""
    sources = []
    for name in ("laptop", "cluster"):
        (tmp_path / name).mkdir()
        module = loaded(tmp_path / name, "own", text, monkeypatch)
        sources.append(read_sources(search(Own(module.use))))
    assert find_edits(sources[0].texts, sources[1]) == {}
    for edit in (("robot", "ant"), ("__file__).parent", "__file__).parent.parent")):
        edited = loaded(tmp_path / "laptop", "own", text.replace(*edit), monkeypatch)
        assert "TEXT" in find_edits(sources[0].texts, read_sources(search(Own(edited.use))))


def test_a_set_of_strings_in_a_lambda_is_the_same_in_every_process(tmp_path):
    text = """
from brns.settings.code import digest_code
print(digest_code((lambda n: n in {"alpha", "beta", "gamma", "delta", "eps"}).__code__))
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", text],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


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


def typed(text, **names):
    """The function `use` of a text without a file."""
    names = {"__name__": "typed"} | names
    exec(text, names)
    return names["use"]


def test_what_evaluations_change_is_no_code_however_it_is_changed(tmp_path):
    """By a helper in its argument, in a closure, in an object; here and in another process."""

    def made(text):
        return search(Own(typed(text)), brns.PopulationKNN(k=2))

    first, out = made(COUNTERS), tmp_path / "run"
    (record,) = brns.run(first, 1, out=out)
    changing = {"buffer", "seen", "count", "Held.calls", "inner.log", "robot.steps", "add.calls"}
    found = {name.removeprefix("closed.<locals>.") for name in record.metadata.changing}
    assert found == changing
    brns.resume(out, 2, search=first)
    anew = made(COUNTERS.replace("count = 0", "count = 7").replace("zeros", "ones"))
    brns.resume(out, 3, search=anew)
    other = made(COUNTERS.replace("0, 1.0", "0, 2.0"))
    with pytest.raises(RecordError, match=r"-robot.mass = 1.0\n *\+robot.mass = 2.0"):
        brns.resume(out, 4, search=other)


def test_a_global_of_the_name_of_an_attribute_is_not_read():
    use = typed("def use(x):\n    return x.seed", seed=3)
    assert "seed" not in read_sources(search(Own(use))).texts


def test_an_object_is_known_by_the_lines_that_assign_it(tmp_path, monkeypatch):
    """In the module from which another imports it, or in the last cell of a notebook."""

    def lines(**names):
        use = typed("def use(x):\n    return next(steps)", **names)
        return read_sources(search(Own(use))).texts["steps"]

    text = "import itertools\nsteps = itertools.count(2)  # two"
    module = loaded(tmp_path, "stepping", text, monkeypatch)
    assert lines(steps=module.steps) == "steps = itertools.count(2)\n"
    cells = ["steps = iter([1])", "steps = iter( [2] )", "steps = = 3", "next(steps)"]
    assert lines(get_ipython=None, In=cells, steps=iter([2])) == "steps = iter([2])\n"


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
    first = read_sources(written().made()).texts
    assert find_edits(first, read_sources(written(before, after).made())) == {}


def test_code_without_a_file_is_known_by_what_was_compiled():
    def source(gain):
        return read_sources(search(Own(typed(f"def use(x):\n    return x * {gain}\n"))))

    assert find_edits(source(2).texts, source(2)) == {}
    assert list(find_edits(source(2).texts, source(3))) == ["use"]
    one, other = (read_sources(search(Own(each))) for each in (lambda x: x + 1, lambda x: x + 2))
    assert one.texts != other.texts
    assert read_sources(brns.NoveltySearch(brns.PlanarArm())).texts == {}


def test_an_edited_task_does_not_go_on_unless_it_is_told_to(written, tmp_path):
    """Settings and genotypes of the record can be read with the new code all the same."""
    out = tmp_path / "run"
    brns.run(written().made(), 2, out=out)
    edited = written("* self.scale", "- self.scale").made()
    before = (out / "run.json").read_bytes()
    for go_on in (
        lambda: brns.run(edited, 2, out=out, exist="resume"),
        lambda: brns.resume(out, 4, search=edited),
    ):
        with pytest.raises(RecordError, match=r"Base.moved \(.*own.py\)") as refused:
            go_on()
        assert "-    return helper(genotypes) * self.scale" in str(refused.value)
        assert "+    return helper(genotypes) - self.scale" in str(refused.value)
        assert "accept_edits=True (--accept-edits)" in str(refused.value)
    assert (out / "run.json").read_bytes() == before
    record = Record(out, edited)
    assert summary(record)["generations"] == 2
    assert record.column("offspring.genotype").shape == (2, 6, 5)
    copy = brns.fork(out, 2, edited, out=tmp_path / "fork", generations=3)
    assert list(copy.metadata.forked.changed) == ["the code of Base.moved"]
    brns.resume(copy, search=edited)
    (record,) = brns.resume(out, 4, search=edited, accept_edits=True)
    (edit,) = record.metadata.edits
    assert (record.last_generation, edit.after, list(edit.before)) == (4, 2, ["Base.moved"])
    brns.resume(out, 5, search=edited)  # that is its code now


def test_the_command_line_goes_on_with_edited_code_if_it_is_told_to(written, tmp_path):
    written()
    call("run", "own:made", "--generations", 1, "--out", "run", folder=tmp_path)
    written("* self.scale", "- self.scale")
    again = ["resume", "run", "--generations", 2, "--search", "own:made"]
    assert "--accept-edits" in call(*again, folder=tmp_path, status=2).stderr
    call(*again, "--accept-edits", folder=tmp_path)
    assert Record(tmp_path / "run").last_generation == 2
