"""Behavior as a sequence of symbols, of any length up to a limit: an encoder that reads it by convolution over time.

    python examples/sequence_descriptors.py            (ends with sequence_descriptors.png)

A dance has 3 to 12 moves out of four. The search dances with the first three; the more a dance holds of the fourth
move, the more novel it is. A descriptor is the dance in one-hot rows, flat, with rows of zeros after its end.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from matplotlib.figure import Figure

import brns
from brns.estimators.recognition import he

LONGEST, MOVES = 12, 4


class SequenceEncoder(eqx.Module):
    over_time: eqx.nn.Conv1d
    head: eqx.nn.MLP

    def __init__(self, key, depth):
        keys = jax.random.split(key, 4)
        self.over_time = he(eqx.nn.Conv1d(MOVES, 16, 3, padding=1, key=keys[0]), keys[1])  # three moves in a row
        self.head = he(eqx.nn.MLP(16, 8, 32, depth - 1, jax.nn.leaky_relu, key=keys[2]), keys[3])

    def __call__(self, descriptors):
        return jax.vmap(self.embed)(descriptors.reshape(-1, LONGEST, MOVES))

    def embed(self, dance):
        present = dance.sum(axis=1)  # 1 up to its end, 0 after it
        return self.head(jax.nn.leaky_relu(self.over_time(dance.T)) @ present / present.sum())


def one_hot(moves, length):
    present = jnp.arange(LONGEST) < length[:, None]
    return (jax.nn.one_hot(moves, MOVES) * present[..., None]).reshape(len(moves), -1)


class Dances(eqx.Module):
    genotype_space: brns.Box = brns.Box([3.0] + [0.0] * LONGEST, [12.99] + [2.99] * LONGEST)  # length, then moves
    behavior_space: brns.Box = brns.Box([0.0] * LONGEST * MOVES, [1.0] * LONGEST * MOVES)
    traceable: bool = True

    def evaluate(self, genotypes, key):
        whole, n = jnp.floor(genotypes), len(genotypes)
        return brns.Evaluation(one_hot(whole[:, 1:], whole[:, 0]), jnp.zeros(n), jnp.zeros(n, bool))


def main(generations=200):
    search, key = brns.NoveltySearch(Dances(), brns.BehaviorRecognition(encoder=SequenceEncoder)), jax.random.key(0)
    state = search.init(key)
    for _ in range(generations):
        state, _ = search.step(state, key)
    first, order = jax.random.split(jax.random.key(1))
    moves = jax.random.randint(first, (200, 6), 0, MOVES - 1)
    novelty = []
    for fourth in range(7):  # dances of six moves, of which so many are the fourth
        dances = jax.random.permutation(order, moves.at[:, :fourth].set(MOVES - 1), axis=1, independent=True)
        dances = one_hot(jnp.pad(dances, ((0, 0), (0, LONGEST - 6))), jnp.full(200, 6))
        novelty.append(search.estimator.score(state.estimator, dances, state.population))
        print(f"{fourth} of 6 moves never seen: median novelty {jnp.median(novelty[-1]):.4f}")
    figure = Figure(figsize=(5, 3), layout="constrained")
    ax = figure.subplots()
    ax.boxplot(novelty, positions=range(7), sym="")
    ax.set(yscale="log", xlabel="moves never seen, out of six", ylabel="novelty", title="Dances of six moves")
    figure.savefig("sequence_descriptors.png")
    return [float(jnp.median(each)) for each in novelty]


if __name__ == "__main__":
    main()
