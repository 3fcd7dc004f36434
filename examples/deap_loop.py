"""Novelty as the fitness in a loop of DEAP: (mu + lambda),
where parents are scored again.

    python examples/deap_loop.py            (needs pip install deap)

DEAP's eaMuPlusLambda evaluates an individual once. Novelty changes with what was seen, so this
loop scores parents and offspring in each generation.
"""

import random

import numpy as np
from deap import algorithms, base, creator, tools

import brns

creator.create("Novelty", base.Fitness, weights=(1.0,))
creator.create("Arm", list, fitness=creator.Novelty)

toolbox = base.Toolbox()
toolbox.register("joint", random.uniform, -0.1, 0.1)
toolbox.register("individual", tools.initRepeat, creator.Arm, toolbox.joint, 7)
toolbox.register("population", tools.initRepeat, list, toolbox.individual)
toolbox.register("mate", tools.cxTwoPoint)
toolbox.register("mutate", tools.mutGaussian, mu=0.0, sigma=0.2, indpb=0.3)
toolbox.register("select", tools.selBest)


def behaviors(individuals):
    """Where arms of seven joints end, in [-1, 1]^2."""
    angles = np.cumsum(np.asarray(individuals), axis=1)
    return np.stack([np.cos(angles).mean(axis=1), np.sin(angles).mean(axis=1)], axis=1)


def main(generations=100, mu=50):
    random.seed(0)
    novelty, visited = brns.Novelty(brns.VisitCounts(), brns.Box([-1.0, -1.0], [1.0, 1.0])), set()
    parents = toolbox.population(n=mu)
    novelty.learn(behaviors(parents))
    for number in range(1, generations + 1):
        offspring = algorithms.varOr(parents, toolbox, lambda_=mu, cxpb=0.2, mutpb=0.8)
        everyone, born = parents + offspring, behaviors(offspring)
        # Offspring count as seen, as parents do.
        scores = novelty.score(behaviors(everyone), population=born)
        for individual, score in zip(everyone, scores.tolist(), strict=True):
            individual.fitness.values = (score,)
        parents = toolbox.select(everyone, mu)
        novelty.learn(born)
        visited |= set(map(tuple, np.floor(born * 10).astype(int).tolist()))
        if number in (1, 10, generations):
            print(f"generation {number:3d}: {len(visited) / 400:.0%} of a 20 x 20 grid visited")


if __name__ == "__main__":
    main()
