"""Modules of a user's own in which a test replaces some text."""

import pytest
from modules import loaded

CODE = """
import argparse
import dataclasses
import functools
import logging
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
    generations: int = 3

    def __repr__(self):
        return super().__repr__()


GROUND = Ground(3.0)
CONFIG = {"offset": [0.0, 1.0], "out": "runs/one"}
SEEN = {}
log = logging.getLogger("own")
log.setLevel(logging.INFO)


def helper(genotypes):
    global counted
    counted += 1
    log.debug("counted")
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
