"""NEAT: novelty is the fitness of networks that grow.

    python examples/neat_loop.py            (needs pip install neat-python)

A network pushes a puck for two seconds; its behavior is where the puck is at the end.
"""

from pathlib import Path

import neat
import numpy as np

import brns


def behavior(network):
    """Where a puck without friction is after 40 pushes, in [-1, 1]^2."""
    place, speed = np.zeros(2), np.zeros(2)
    for _ in range(40):
        speed += 0.01 * np.array(network.activate([*place, *speed]))
        place += 0.1 * speed
    return np.clip(place, -1, 1)


def main(generations=30):
    parts = neat.DefaultGenome, neat.DefaultReproduction, neat.DefaultSpeciesSet
    settings = Path(__file__).with_name("neat.ini")
    population = neat.Population(neat.Config(*parts, neat.DefaultStagnation, settings))
    novelty = brns.Novelty(brns.VisitCounts(), brns.Box([-1.0, -1.0], [1.0, 1.0]))
    visited = set()

    def evaluate(genomes, config):
        networks = [neat.nn.FeedForwardNetwork.create(genome, config) for _, genome in genomes]
        behaviors = np.stack([behavior(network) for network in networks])
        # The others of a generation count too: one of many alike is not novel.
        scores = novelty.score(behaviors, population=behaviors)
        for (_, genome), score in zip(genomes, scores.tolist(), strict=True):
            genome.fitness = score
        novelty.learn(behaviors)
        visited.update(map(tuple, np.floor(behaviors * 9.99).astype(int).tolist()))

    for number in range(1, generations + 1):
        population.run(evaluate, 1)
        if number in (1, 10, generations):
            print(f"generation {number:3d}: {len(visited) / 400:.0%} of a 20 x 20 grid visited")


if __name__ == "__main__":
    main()
