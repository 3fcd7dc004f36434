"""Behavior as a sequence of symbols, of any length up to a limit:
an encoder that reads it by convolution over time.

    python examples/sequence_descriptors.py

A dance has 3 to 12 moves of four kinds. The search uses the first three kinds; the more moves of
the fourth kind a dance has, the more novel it is. A descriptor is the dance in one-hot rows, flat,
with rows of zeros after its end.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import brns
from brns.estimators.encoder import init_he

LONGEST, MOVES = 12, 4


class SequenceEncoder(eqx.Module):
    over_time: eqx.nn.Conv1d
    head: eqx.nn.MLP

    def __init__(self, key, depth):
        over_time = eqx.nn.Conv1d(MOVES, 16, 3, padding=1, key=key)  # three moves in a row
        self.over_time, self.head = init_he(
            (over_time, eqx.nn.MLP(16, 8, 32, depth - 1, jax.nn.leaky_relu, key=key)), key
        )

    def __call__(self, descriptors):
        return jax.vmap(self.embed)(descriptors.reshape(-1, LONGEST, MOVES))

    def embed(self, dance):
        present = dance.sum(axis=1)  # 1 up to its end, 0 after it
        return self.head(jax.nn.leaky_relu(self.over_time(dance.T)) @ present / present.sum())


def one_hot(moves, length):
    present = jnp.arange(LONGEST) < length[:, None]
    return (jax.nn.one_hot(moves, MOVES) * present[..., None]).reshape(len(moves), -1)


class Dances(eqx.Module):
    genotype_space: brns.Box = brns.Box(
        [3.0] + [0.0] * LONGEST, [12.99] + [2.99] * LONGEST
    )  # length, then moves
    behavior_space: brns.Box = brns.Box([0.0] * LONGEST * MOVES, [1.0] * LONGEST * MOVES)
    traceable: bool = True

    def evaluate(self, genotypes, key):
        whole = jnp.floor(genotypes)
        return brns.Evaluation(one_hot(whole[:, 1:], whole[:, 0]))


if __name__ == "__main__":
    search = brns.NoveltySearch(Dances(), brns.BehaviorRecognition(encoder=SequenceEncoder))
    state = search.init(jax.random.key(0))
    for _ in range(200):
        state, _ = search.step(state, jax.random.key(0))
    moves = jax.random.randint(jax.random.key(1), (200, LONGEST), 0, MOVES - 1)
    order = jax.random.uniform(jax.random.key(2), moves.shape).argsort(axis=1)
    scored = {}
    for fourth in range(0, LONGEST + 1, 2):
        dances = one_hot(jnp.where(order < fourth, MOVES - 1, moves), jnp.full(200, LONGEST))
        scored[fourth] = search.estimator.score(state.estimator, dances, state.population)
        print(
            f"{fourth:2d} of {LONGEST} moves never seen: median novelty "
            f"{jnp.median(scored[fourth]):.4f}"
        )
    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    ax.boxplot(scored.values(), tick_labels=scored.keys(), showfliers=False)
    ax.set(xlabel=f"moves of {LONGEST} never seen", ylabel="novelty of 200 dances", ylim=(0, None))
    figure.savefig("sequence_descriptors.png", dpi=150)
