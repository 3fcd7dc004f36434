"""The user's own code: a run knows by which it was made,
and goes on with other code only if it is told to."""

import argparse
import gc
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest
from modules import Own, loaded, typed
from searches import search
from shell import call

import brns
from brns import Record, RecordError
from brns.metrics.measures import summarize_run
from brns.runs.metadata import read_sources
from brns.settings.description import part_to_json
from brns.settings.differences import find_differences
from brns.settings.edits import diff_code_by_name
from brns.settings.parsing import get_source_text, parse_source
from brns.tasks import worker

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
        ("self.moved(genotypes))", "self.moved(genotypes)) / 2", "own.Task.evaluate"),
        ("* self.scale", "- self.scale", "own.Base.moved"),
        ("scale = 1.0", "scale = 2.0", "own.Base.scale"),
        ("[-1.0] * 2", "[-2.0] * 2", "own.Base.behavior_space"),
        ("np.arange(3.0)", "np.ones(3)", "own.TABLE"),
        ("Ground(3.0)", "Ground(4.0)", "own.GROUND.width, own.GROUND"),
        ("[0.0, 1.0]", "[0.0] * 9999", "own.CONFIG.offset"),
        ("points**power", "points * power", "own.measured"),
        ("POWER = 1", "POWER = 2", "own.Scorer.__call__.factor"),
        ("return 0.0", "return 0.1", "aside.offset"),
        ("GAIN = 0.5", "GAIN = 0.4", "own.measured.shift, own.GAIN"),
    ],
)
def test_an_edit_anywhere_in_what_a_task_uses_is_seen(written, before, after, name):
    first = read_sources(written().made()).texts
    edited = read_sources(written(before, after).made())
    assert ", ".join(diff_code_by_name(first, edited)) == name
    assert len("".join(edited.texts.values())) < 3000


BEGIN = """
import abc, argparse, collections, dataclasses, fractions, functools, itertools, operator
import types, typing
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
    "a private argument of an object's class": """class Scale:
    def __init__(self, gain):
        self._gain = gain
scale = Scale(GAIN)
def use(x):
    return scale._gain * x""",
    "a default of a dataclass that is made": """@dataclasses.dataclass
class Settings:
    gain: float = GAIN
def use(x):
    return Settings().gain * x""",
    "a private field's default": """@dataclasses.dataclass(frozen=True)
class Robot:
    _gain: float = GAIN
def use(x):
    return Robot()._gain * x""",
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
    "one that a function makes": """class Env(gymnasium.Env):
    def step(self, action):
        return literal
gymnasium.register("Made-v0", entry_point=Env)
def use(x):
    return gymnasium.make("Made-v0").step(x)""",
    "one that a partial makes": """class Env(gymnasium.Env):
    def step(self, action):
        return literal
gymnasium.register("Made-v0", entry_point=Env)
use = functools.partial(gymnasium.make, "Made-v0")""",
    "an object of a for loop": """for made in [np.random.default_rng(GAIN)]:
    print(made)
def use(x):
    return made.normal(x)""",
    "one that stays open": """import contextlib
with contextlib.nullcontext(np.random.default_rng(GAIN)) as made:
    print(made)
def use(x):
    return made.normal(x)""",
    "one that is assigned in passing": """print(made := np.random.default_rng(GAIN))
def use(x):
    return made.normal(x)""",
    "one that an object is given": """class Robot:
    def __init__(self, made):
        self._made = made
made = np.random.default_rng(GAIN)
def use(x, robot=Robot(made)):
    return robot._made.normal(x)""",
    "what is done to an object": """made = np.random.default_rng(0)
made.bit_generator.advance(GAIN)
def use(x):
    return made.normal(x)""",
    "a part of an object": """made = gymnasium.make("Pendulum-v1")
made.unwrapped.m = GAIN
def use(x):
    return made.step(x)""",
    "a wrapper of a registered environment": """class Env(gymnasium.Env):
    pass
class Half(gymnasium.ActionWrapper, gymnasium.utils.RecordConstructorArgs):
    def action(self, action):
        return action * literal
gymnasium.register("Edited-v0", Env, additional_wrappers=(Half.wrapper_spec(),))
use = None""",
    "the key of a dictionary": """def scale(x):
    return literal * x
held = {scale: 1.0}
def use(x):
    return sum(key(x) for key in held)""",
    "its arguments": """class Env(gymnasium.Env):
    pass
gymnasium.register("Edited-v0", entry_point=Env, kwargs={"gain": GAIN})
use = None""",
}
"""what leads from a function `called` to a number: GAIN as a value, `literal` within a function"""


class Registered(Own):
    """A task that uses what is registered, as a `GymnasiumTask` does."""

    @property
    def spec(self):
        return gymnasium.registry.get("Edited-v0")


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("way", WAYS)
def test_an_edit_is_seen_through_whatever_leads_to_it(way, tmp_path, monkeypatch):
    sources, texts = [], []
    for gain in ("1", "2"):
        text = BEGIN + WAYS[way].replace("literal", gain).replace("GAIN", gain)
        module = loaded(tmp_path, "way", text, monkeypatch)
        sources.append(read_sources(search(Registered(module.called))))
        texts.append(sources[-1].texts)
    for name in ("Edited-v0", "Made-v0"):
        gymnasium.registry.pop(name, None)
    edited = diff_code_by_name(texts[0], sources[1])
    assert edited
    assert "way.called" not in edited


MADE = {
    "a private object": """class Robot:
    def __init__(self, arm):
        self._arm = arm
def make(gain):
    return Robot(Gain(gain))""",
    "arguments that a base class keeps": """class Base:
    def __init__(self, gain):
        self._gain = gain
class Robot(Base):
    def __init__(self, **others):
        super().__init__(**others)
def make(gain):
    return Robot(gain=gain)""",
    "a decorated initializer": """def noted(function):
    return functools.wraps(function)(lambda *a, **k: function(*a, **k))
class Robot:
    @noted
    def __init__(self, gain):
        self._gain = gain
def make(gain):
    return Robot(gain)""",
    "a field that an initializer fills": """class Robot(eqx.Module):
    _gain: float
    def __init__(self, gain):
        self._gain = gain
def make(gain):
    return Robot(gain)""",
    "arguments without names": """class Robot:
    def __init__(self, *gains, **others):
        self._gains, self._others = gains, others
def make(gain):
    return Robot(1, mass=gain)""",
    "an environment in wrappers": """class Cart(gymnasium.Env):
    def __init__(self, gain):
        self._gain = gain
class Half(gymnasium.Wrapper):
    pass
def make(gain):
    return gymnasium.wrappers.TimeLimit(Half(Cart(gain)), 3)""",
    "a function given to a wrapper": """def make(gain):
    env = gymnasium.make("MountainCarContinuous-v0")
    return gymnasium.wrappers.TransformAction(env, lambda x: gain * x, env.action_space)""",
    "attributes of an abstract class": """class Base(abc.ABC):
    def __init__(self, **others):
        self.configure(**others)
    def configure(self, gain):
        self.gain = gain
class Robot(Base):
    pass
def make(gain):
    return Robot(gain=gain)""",
    "arrays of a package's object": """import scipy.interpolate
def make(gain):
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, gain, 1.0])""",
}
"""what `make` gives holds a number that no line of the module has"""


@pytest.mark.parametrize("way", MADE)
def test_what_a_task_was_made_with_is_seen_however_it_is_kept(way, tmp_path, monkeypatch):
    module = loaded(tmp_path, "way", BEGIN + MADE[way], monkeypatch)
    one, same, other = (search(Own(module.make(gain))) for gain in (1.0, 1.0, 2.0))
    source = read_sources(one).texts

    def differs(another):
        changed = find_differences(part_to_json(one), part_to_json(another))
        return bool(changed or diff_code_by_name(source, read_sources(another)))

    assert not differs(same)
    assert differs(other)


def test_modules_of_one_name_in_two_packages_are_two(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for package in ("there", "here"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "config.py").write_text("steps = 3\n")
    text = "from here import config\nimport there.config\n"
    text += "def use(x):\n    return x * config.steps + there.config.steps\n"
    texts = read_sources(search(Own(loaded(tmp_path, "own", text, monkeypatch).use))).texts
    assert {"here.config.steps", "there.config.steps"} <= texts.keys()


def test_things_that_hold_themselves_are_no_hindrance():
    text = """
class Node:
    def __init__(self):
        self.others = [self]
    def __eq__(self, other):
        return isinstance(other, Node)
    def __hash__(self):
        return 0
nodes = {Node()}
def use(x):
    return x * len(nodes)"""
    assert "use" in "".join(read_sources(search(Own(typed(text)))).texts)


HELD = """
import aside
class Robot:
    def __init__(self, simulator):
        self._simulator = simulator
robot, held, model = Robot(aside), {"simulator": aside}, None
def outer(simulator):
    return lambda x: simulator.step(x)
closed = outer(aside)
def given(simulator, x):
    return simulator.step(x)
def found():
    return aside
"""


@pytest.mark.parametrize(
    "line",
    [
        "robot._simulator.step(x)",
        "held['simulator'].step(x)",
        "default.step(x)",
        "closed(x)",
        "given(aside, x)",
        "found().step(x)",
        "aside.dynamic(x)",
        "aside.MODEL.normal(x)",
        "MODEL(x) + model.normal(x)",
    ],
)
def test_an_edit_of_a_module_is_seen_wherever_it_is_held(line, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = HELD + f"def use(x, default=aside):\n    return {line}\n"
    if "+ model" in line:
        text += "from aside import MODEL as model\ndef MODEL(x):\n    return x\n"
    texts = []
    for gain in ("1", "2"):
        aside = f"""
import numpy as np
MODEL = np.random.default_rng({gain})
def step(x):
    return {gain} * x
def __getattr__(name):
    return {gain}
"""
        loaded(tmp_path, "aside", aside, monkeypatch)
        now = read_sources(search(Own(loaded(tmp_path, "own", text, monkeypatch).use)))
        texts.append(now.texts)
    edited = diff_code_by_name(texts[0], now)
    assert edited
    assert all(name.startswith("aside.") for name in edited)


def test_the_code_that_runs_counts_not_what_its_file_says_since(tmp_path, monkeypatch):
    """A file that was edited but not imported again is neither an edit, nor the run's code."""
    text = '"""A robot."""\ndef helper(x):\n    return x * 1\ndef use(x):\n    return helper(x)\n'
    task = Own(loaded(tmp_path, "own", text, monkeypatch).use)
    before = read_sources(search(task)).texts
    (tmp_path / "own.py").write_text(text.replace("* 1", "* 22").replace("A", "\n\nA"))
    assert "x * 1" in before["own.helper"]
    now = read_sources(search(task))
    assert diff_code_by_name(before, now) == {}
    assert now.texts["own.use"] == before["own.use"]
    assert "x *" not in now.texts["own.helper"]
    again = loaded(tmp_path, "own", (tmp_path / "own.py").read_text(), monkeypatch).use
    assert list(diff_code_by_name(now.texts, read_sources(search(Own(again))))) == ["own.helper"]


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
        edited = diff_code_by_name(before, now)
        before = now.texts
    assert list(edited) == ([name] if name else [])
    assert not {"one", "two", "three"} & sys.modules.keys()


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
    assert diff_code_by_name(sources[0].texts, sources[1]) == {}
    for edit in (("robot", "ant"), ("__file__).parent", "__file__).parent.parent")):
        edited = loaded(tmp_path / "laptop", "own", text.replace(*edit), monkeypatch)
        assert "own.TEXT" in diff_code_by_name(
            sources[0].texts, read_sources(search(Own(edited.use)))
        )


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


def test_a_global_of_the_name_of_an_attribute_is_not_read():
    use = typed("def use(x):\n    return x.seed", seed=3)
    assert "seed" not in read_sources(search(Own(use))).texts


def test_an_object_is_known_by_the_lines_that_assign_it(tmp_path, monkeypatch):
    """In the module from which another imports it, or in the last cell of a notebook."""

    def lines(**names):
        use = typed("def use(x):\n    return next(steps)", **names)
        return read_sources(search(Own(use))).texts

    text = "import itertools\nsteps = itertools.count(2)  # two"
    module = loaded(tmp_path, "stepping", text, monkeypatch)
    assert lines(steps=module.steps)["stepping.steps"] == "steps = itertools.count(2)\n"
    cells = ["steps = iter([1])", "steps = iter( [2] )", "steps = = 3", "next(steps)"]
    cells += 2 * ["steps.advance()"]
    names = lines(get_ipython=None, In=cells, steps=iter([2]))
    assert names["steps"] == "steps = iter([2])\nsteps.advance()\n"


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
    assert diff_code_by_name(first, read_sources(written(before, after).made())) == {}


def test_code_without_a_file_is_known_by_what_was_compiled():
    def source(gain):
        return read_sources(search(Own(typed(f"def use(x):\n    return x * {gain}\n"))))

    assert diff_code_by_name(source(2).texts, source(2)) == {}
    assert list(diff_code_by_name(source(2).texts, source(3))) == ["use"]
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
    assert summarize_run(record)["generations"] == 2
    assert record.column("offspring.genotype").shape == (2, 6, 5)
    copy = brns.fork(out, 2, edited, out=tmp_path / "fork", generations=3)
    assert list(copy.metadata.forked.changed) == ["the code of own.Base.moved"]
    brns.resume(copy, search=edited)
    (record,) = brns.resume(out, 4, search=edited, accept_edits=True)
    (edit,) = record.metadata.edits
    assert (record.last_generation, edit.after, list(edit.before)) == (4, 2, ["own.Base.moved"])
    brns.resume(out, 5, search=edited)  # that is its code now


def test_the_command_line_goes_on_with_edited_code_if_it_is_told_to(written, tmp_path):
    written()
    call("run", "own:made", "--generations", 1, "--out", "run", folder=tmp_path)
    written("* self.scale", "- self.scale")
    again = ["resume", "run", "--generations", 2, "--search", "own:made"]
    assert "--accept-edits" in call(*again, folder=tmp_path, status=2).stderr
    call(*again, "--accept-edits", folder=tmp_path)
    assert Record(tmp_path / "run").last_generation == 2


@pytest.mark.parametrize("edit", [("GAIN = 0.5", "GAIN = 0.4"), ("* self.scale", "- self.scale")])
def test_a_worker_that_imports_another_file_is_refused(written, edit):
    """One that starts late, say; state that the search's process has is no edit."""
    task = written().made().task
    sent = brns.Chunked(task)._pickle_task()
    sys.modules["own"].SEEN.clear()
    sys.modules["own"].counted = 9
    worker.cache_task_and_list_digests(*sent)
    written("return points * factor", "return  points * factor  # by a factor")
    worker.cache_task_and_list_digests(*sent)
    written(*edit)
    with pytest.raises(worker.WorkerError, match=r"here own.*(GAIN|moved) is other code"):
        worker.cache_task_and_list_digests(*sent)


def test_threads_may_read_code_while_python_collects_garbage():
    """In Python 3.11 a thread that parses ends another's, as JAX frees its own between them."""
    before = gc.get_threshold()

    def give_way(*_):
        time.sleep(0)

    gc.callbacks.append(give_way)
    gc.set_threshold(700)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(parse_source, ["x = [1, 2, 3]\n" * 1000] * 12))
            list(threads.map(get_source_text, [argparse.ArgumentParser] * 12))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(give_way)
