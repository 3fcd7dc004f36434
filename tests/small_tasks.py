"""Small tasks for tests."""

import asyncio
import os
import signal
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

from brns import Box, Evaluation


class Identity(eqx.Module):
    """A traceable task: two genes are mapped to [0, 600]^2; solved in the far corner."""

    genotype_space: Box = Box([-1.0] * 5, [1.0] * 5)
    behavior_space: Box = Box([0.0, 0.0], [600.0, 600.0])
    traceable: bool = True

    def evaluate(self, genotypes, key):
        descriptor = 300 + 300 * genotypes[:, :2]
        return Evaluation(descriptor, genotypes[:, 2], (genotypes[:, :2] > 0.8).all(axis=1))


class HostIdentity(Identity):
    """The same task on the host, in NumPy."""

    traceable: bool = False

    def evaluate(self, genotypes, key):
        return super().evaluate(np.asarray(genotypes), key)


def altered(change, kind=HostIdentity, **fields):
    """The task with another evaluation: `change(evaluation, genotypes, key)`."""

    class Altered(kind):
        def evaluate(self, genotypes, key):
            return change(super().evaluate(genotypes, key), genotypes, key)

    return Altered(**fields)


class Faulty(eqx.Module):
    """The task on the host, in which genotypes whose first gene is above 0.5 meet a fault.

    With `flag`, the name of a file that is made then, they meet it once."""

    fault: str
    flag: str | None = None
    genotype_space: Box = Box([-1.0] * 5, [1.0] * 5)
    behavior_space: Box = Box([0.0, 0.0], [600.0, 600.0])
    traceable: bool = False

    def evaluate(self, genotypes, key):
        faulty = np.asarray(genotypes)[:, 0] > 0.5
        if faulty.any() and not (self.flag and os.path.exists(self.flag)):
            if self.flag:
                Path(self.flag).touch()
            if self.fault == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault == "raises":
                raise ZeroDivisionError("the floor has no friction")
            if self.fault == "cancels":
                raise asyncio.CancelledError
            if self.fault == "hangs":
                time.sleep(3600)
            if self.fault == "nan":
                evaluation = HostIdentity().evaluate(genotypes, key)
                evaluation.descriptor[faulty] = np.nan
                return evaluation
            if self.fault == "wide":
                return Evaluation(np.zeros((faulty.size, 3)), np.zeros(faulty.size), faulty)
        return HostIdentity().evaluate(genotypes, key)


class Fragile(HostIdentity):
    """The task on the host, which cannot evaluate who has a last gene above 0.6."""

    def evaluate(self, genotypes, key):
        if (np.asarray(genotypes)[:, 4] > 0.6).any():
            raise ZeroDivisionError("the floor has no friction")
        return super().evaluate(genotypes, key)


class Counting:
    """The task on the host, which counts in public attributes of its own and of the class."""

    genotype_space, behavior_space = HostIdentity().genotype_space, HostIdentity().behavior_space
    traceable, gain, batches = False, 1.0, []

    def __init__(self):
        self.calls = 0

    def evaluate(self, genotypes, key):
        self.calls += 1
        self.batches.append(len(genotypes))
        return HostIdentity().evaluate(self.gain * genotypes, key)


class Windy(HostIdentity):
    """The task on the host with a wind for each generation, the same for all."""

    behavior_space: Box = Box([-50.0, -50.0], [650.0, 650.0])

    def evaluate(self, genotypes, key):
        evaluation = super().evaluate(genotypes, key)
        wind = np.asarray(jax.random.normal(key, (2,)))
        return evaluation._replace(descriptor=evaluation.descriptor + wind)
