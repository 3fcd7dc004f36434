"""Runs written by hand, as the metrics see them."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from brns.core import Box, Population
from brns.search import SearchState


class Additive(eqx.Module):
    """Novelty is the state plus the first coordinate and the number of individuals alive."""

    def score(self, state, descriptors, population):
        return state + descriptors[:, 0] + population.id.shape[0]


def population(ids, descriptors, parents=None, born=None, solved=None, mates=None):
    """Individuals by their ids and descriptors; founders unless parents and births are given."""
    given = {"id": ids, "parent": parents, "born": born, "solved": solved, "mate": mates}
    places = np.reshape(descriptors, (len(ids), -1))
    founders = jax.tree.map(np.array, Population.from_descriptors(places))
    return founders._replace(
        **{name: np.asarray(column) for name, column in given.items() if column is not None}
    )


class FakeRecord:
    """`history` is (offspring, survivors) of generations, `states` some states of the estimator."""

    def __init__(self, history, states=None, estimator=None, box=None):
        self.path, self.seed = "runs/fake", 0
        self.failures = []
        self.experiment = {"task": {"name": "Fake"}}
        self.history, self.states = history, states or {}
        self.generations = list(range(len(history)))
        self.generations_with_states = sorted(self.states)
        self.behavior_space = box or Box([0.0, 0.0], [6.0, 6.0])
        task = SimpleNamespace(behavior_space=self.behavior_space)
        self.search = SimpleNamespace(task=task, estimator=estimator)
        self.search_or_none = self.search

    def column(self, name, generations=None):
        kind, name = name.split(".")
        row = ("offspring", "survivors").index(kind)
        numbers = generations or self.generations
        return np.stack([getattr(self.history[g][row], name) for g in numbers])

    def genotypes(self, ids, born):
        return np.zeros((len(ids), 1), np.float32)

    def state(self, number, search=None):
        people = self.history[number][1]
        return SearchState(jnp.int32(number), people, self.states[number], jnp.ones(1))


def family():
    """Two founders; 2, child of 1, is born in generation 1 and 3, child of 2, in generation 2,
    after 1 has died."""
    founders = population([0, 1], [[0, 0], [3, 0]])
    second = population([2], [[3, 4]], parents=[1], born=[1])
    first_survivors = population([0, 2], [[0, 0], [3, 4]], parents=[-1, 1], born=[0, 1])
    third = population([3], [[5.5, 4]], parents=[2], born=[2], solved=[True])
    second_survivors = population(
        [2, 3], [[3, 4], [5.5, 4]], parents=[1, 2], born=[1, 2], solved=[False, True]
    )
    return [(founders, founders), (second, first_survivors), (third, second_survivors)]
