"""The user's own code, behind objects, decorators, registries and whatever else leads to it."""

import importlib
import sys

import gymnasium
import pytest
from modules import Own, loaded
from searches import search

import brns
from brns.runs.metadata import read_sources
from brns.settings.description import part_to_json
from brns.settings.differences import find_differences
from brns.settings.edits import diff_code_by_name

BEGIN = """
import argparse, fractions, functools, types
import gymnasium, jax, numpy as np, pydantic

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
    "a package's function that a class or an argument holds": """class Arm:
    turn = np.sin if GAIN == 1 else np.cos
def scale(x, power=Arm.turn):
    return power(x)
def use(x):
    return scale(x) + Arm.turn(x)""",
    "a package's object that a class makes": """class Arm:
    if True:
        curve = np.random.RandomState(GAIN)
def use(x):
    return Arm.curve.normal() * x""",
    "a list in a closure": """def outer(gains):
    return lambda x: gains[0] * x
use = outer([GAIN])""",
    "a property": """class Arm:
    @property
    def gain(self):
        return literal
return Arm().gain * x""",
    "a cached property": """class Arm:
    @functools.cached_property
    def gain(self):
        return literal
return Arm().gain * x""",
    "a namespace": "held = types.SimpleNamespace(gain=GAIN)\ndef use(x):\n    return held.gain * x",
    "a partial method": """class Scale:
    def scaled(self, gain, x):
        return gain * x
    call = functools.partialmethod(scaled, GAIN)
return Scale().call(x)""",
    "an attribute of a function": "def use(x):\n    return use.gain * x\nuse.gain = GAIN",
    "a fraction": "held = fractions.Fraction(GAIN)\ndef use(x):\n    return held * x",
    "objects in a list": """gains = [Gain(0.0), Gain(GAIN)]
return gains[1](x)""",
    "a method of an object": "use = Gain(GAIN).__call__",
    "numpy.vectorize": "@np.vectorize\ndef use(x):\n    return x * literal",
    "a function in C under another name": """from scipy.special import expit as squash
return squash(x) * literal""",
    "a partial below a decorator in Python": """def scale(gain, x):
    return gain * x
use = jax.vmap(functools.partial(scale, GAIN))""",
    "a partial below two decorators in Python": """def scale(gain, x):
    return gain * x
use = jax.vmap(jax.grad(functools.partial(scale, GAIN)))""",
    "a partial below a decorator in a closure": """def scale(gain, x):
    return gain * x
def outer(inner):
    return lambda x: inner(x)
use = outer(jax.jit(functools.partial(scale, GAIN)))""",
    "a partial in NumPy's vectorize in a closure": """def scale(gain, x):
    return gain * x
def outer(inner):
    return lambda x: inner(x)
use = outer(np.vectorize(functools.partial(scale, GAIN)))""",
    "a partial below decorators": "use = jax.jit(jax.vmap(functools.partial(max, GAIN)))",
    "how an object is made": """class Made:
    def __new__(cls):
        self = super().__new__(cls)
        self.gain = literal
        return self
return Made().gain * x""",
    "another package of the same name": """import numpy
library = (numpy, jax.numpy)[GAIN - 1]
return library.sin(x)""",
    "an object of a package": """if True:
    made = gymnasium.make("Pendulum-v1", g=GAIN)
return made.step(x)""",
    "a dictionary with dots": """class Config(dict):
    __getattr__ = dict.__getitem__
config = Config(gain=GAIN)
return config.gain * x""",
    "a field with a default": """class Settings(pydantic.BaseModel):
    gain: float = GAIN
settings = Settings()
return settings.gain * x""",
    "a default in a dataclass of which code makes an object": """import dataclasses
@dataclasses.dataclass
class Settings:
    gain: float = GAIN
return Settings().gain * x""",
    "a factory of defaults in an equinox module": """import equinox
class Settings(equinox.Module):
    gains: list = equinox.field(default_factory=lambda: [literal])
return Settings().gains[0] * x""",
    "a default in a pydantic model of which code makes an object": """
class Settings(pydantic.BaseModel):
    gain: float = GAIN
return Settings().gain * x""",
    "a registered environment that a function makes": """class Env(gymnasium.Env):
    def step(self, action):
        return literal
gymnasium.register("Made-v0", entry_point=Env)
return gymnasium.make("Made-v0").step(x)""",
    "what is done to an object": """made = np.random.default_rng(0)
made.bit_generator.advance(GAIN)
return made.normal(x)""",
    "a function that makes an object which hides": """class Robot:
    def __init__(self, mass):
        self._weight = mass / 2
def make():
    return Robot(literal)
made = make()
return made._weight * x""",
    "a part of an object": """made = gymnasium.make("Pendulum-v1")
made.unwrapped.m = GAIN
return made.step(x)""",
    "a dictionary that is given as arguments": """CONFIG = {"out": GAIN}
def scale(x, out):
    return out * x
return scale(x, **CONFIG)""",
    "the arguments of a program as a dictionary": """arguments = argparse.Namespace(gain=GAIN)
return vars(arguments)["gain"] * x""",
    "a namespace that names another function": """def deep(x):
    return held.gain * x
held = types.SimpleNamespace(go=deep, gain=GAIN)
def use(x):
    return held.go(x)""",
    "arguments of a registered environment": """class Env(gymnasium.Env):
    pass
gymnasium.register("Edited-v0", entry_point=Env, kwargs={"gain": GAIN})
use = None""",
    "arguments of a registered environment's wrapper": """class Env(gymnasium.Env):
    pass
wrapper = gymnasium.envs.registration.WrapperSpec("Scaled", "way:Scaled", {"gain": GAIN})
gymnasium.register("Edited-v0", entry_point=Env, additional_wrappers=(wrapper,))
use = None""",
}
"""what leads from a function `called` to a number: GAIN as a value, `literal` within a function; a
last line that returns is that of `use`"""


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
        text = text.replace("\nreturn ", "\ndef use(x):\n    return ")
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
    "an environment's arguments": """def make(gain):
    return gymnasium.make("Pendulum-v1", g=gain)""",
    "a method of an object": "def make(gain):\n    return Gain(gain).__call__",
    "a method of a module of Equinox": """import equinox
class Scale(equinox.Module):
    gain: float
    def by(self, x):
        return self.gain * x
def make(gain):
    return Scale(gain).by""",
    "arrays of a package's object": """import scipy.interpolate
def make(gain):
    return scipy.interpolate.RegularGridInterpolator([[0.0, 1.0, 2.0]], [0.0, gain, 1.0])""",
    "which of several classes an attribute has": """class Flat:
    pass
class Hills:
    pass
GROUNDS = {1: Flat, 2: Hills}
class make:
    def __init__(self, number):
        self.ground = GROUNDS[number]()""",
}
"""what `make` gives holds a number that no line of the module has, or one of several things"""


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


def test_a_packages_object_that_a_task_is_given_is_known_by_the_lines_that_assign_it(
    tmp_path, monkeypatch
):
    """And a package that it is given is not known by the lines that call it."""
    text = """
import numpy as np, scipy.interpolate
class Robot:
    def __init__(self, motor, library):
        self.motor = motor
        self.library = library
other = np.arange(GAIN)
motor = scipy.interpolate.interp1d([0.0, 1.0], [0.0, GAIN])
def make():
    return Robot(motor, np)"""
    sources = []
    for gain in ("1.0", "2.0"):
        module = loaded(tmp_path, "way", text.replace("GAIN", gain), monkeypatch)
        sources.append(read_sources(search(Own(module.make()))))
    assert list(diff_code_by_name(sources[0].texts, sources[1])) == ["way.Robot.motor"]


def make_later():
    return gymnasium.make("Later-v0")


@pytest.mark.parametrize("imported", [False, True])
@pytest.mark.parametrize("make_env", ["Later-v0", "Later", make_later])
def test_an_environment_is_the_same_code_before_and_after_it_is_imported(
    imported, make_env, tmp_path, monkeypatch
):
    text = "import gymnasium\nclass Env(gymnasium.Env):\n    gain = 1.0\n"
    (tmp_path / "own_environments.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    gymnasium.register("Later-v0", entry_point="own_environments:Env")
    policy, space = brns.FeedForward((1, 1)), brns.Box([0.0], [1.0])
    task = brns.GymnasiumTask(make_env, policy=policy, behavior_space=space)
    monkeypatch.delitem(sys.modules, "own_environments", raising=False)
    if imported:
        importlib.import_module("own_environments")
    assert "own_environments.Env.gain" in read_sources(search(task)).texts
    del gymnasium.registry["Later-v0"]
