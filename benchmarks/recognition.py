"""One generation of behavior recognition: `brns` compiled, against the same maths in eager PyTorch.

Both score 200 behaviors and train on 100 of them: 3 epochs, batches of at most 128, Adam, float32, one core. The two
take turns within one process, and the ratios are those of the medians of CPU time. PyTorch is needed here alone:

    pip install torch==2.13.0
    python benchmarks/recognition.py
"""

import dataclasses
import itertools
import os
import statistics
import time

POPULATION = OFFSPRING = 100
TARGETS = {2: 1 / 8, 32: 1 / 4, 256: 1 / 1.3}
"""the largest ratio of times, brns to PyTorch, by the behavior space's dimension"""


def ours(dimension, **settings):
    """A function that computes one generation of `brns`, and goes on from one call to the next."""
    import jax
    import jax.numpy as jnp

    from brns import Box, Generation, Population
    from brns.core import take, unite
    from brns.experiments import paper_recognition

    estimator, key = dataclasses.replace(paper_recognition(), **settings), jax.random.key(0)
    space = Box([0.0] * dimension, [1.0] * dimension)

    def individuals(seed):
        return Population(
            genotype=jnp.zeros((POPULATION, 1)),
            descriptor=space.uniform(jax.random.key(seed), POPULATION),
            fitness=jnp.zeros(POPULATION),
            solved=jnp.zeros(POPULATION, bool),
            novelty=jnp.zeros(POPULATION),
            id=jnp.arange(POPULATION, dtype=jnp.int32),
            parent=jnp.full(POPULATION, -1, jnp.int32),
            born=jnp.full(POPULATION, 2, jnp.int32),
        )

    @jax.jit
    def generation(state, parents, offspring, number):
        union = unite(parents, offspring)
        novelty = estimator.score(state, union.descriptor, union)
        survivors = take(union, jnp.argsort(-novelty)[:POPULATION])
        learned = estimator.update(state, Generation(parents, offspring, survivors), jax.random.fold_in(key, number))
        return learned, novelty, number + 1

    parents, offspring = individuals(1), individuals(2)
    state, number = jax.jit(lambda key: estimator.init(space, key))(key), jnp.int32(2)

    def call():
        nonlocal state, number
        state, _, number = jax.block_until_ready(generation(state, parents, offspring, number))

    return call


def theirs(dimension):
    """A function that computes one generation in eager PyTorch, as it is usually written."""
    import torch

    torch.manual_seed(0)

    def encoder(depth):
        sizes = [dimension, *[3 * dimension] * depth]
        layers = [
            part
            for inputs, outputs in itertools.pairwise(sizes)
            for part in (torch.nn.Linear(inputs, outputs), torch.nn.LeakyReLU())
        ]
        return torch.nn.Sequential(*layers, torch.nn.Linear(3 * dimension, 2 * dimension))

    target, predictor = encoder(3), encoder(5)
    optimiser = torch.optim.Adam(predictor.parameters(), lr=1e-2)
    parents, offspring = torch.rand(POPULATION, dimension), torch.rand(OFFSPRING, dimension)

    def call():
        behavior = torch.cat([parents, offspring])
        with torch.no_grad():
            embedding = target(behavior)
            novelty = ((predictor(behavior) - embedding) ** 2).sum(1)
        survivors = torch.argsort(novelty, descending=True)[:POPULATION]
        behavior, embedding = behavior[POPULATION:], embedding[POPULATION:]
        for _ in range(3):
            order = torch.randperm(OFFSPRING)
            for batch in order.split(128):
                optimiser.zero_grad()
                loss = ((predictor(behavior[batch]) - embedding[batch]) ** 2).sum(1).mean()
                loss.backward()
                optimiser.step()
        return survivors

    return call


def medians(calls, rounds=15, block=10):
    """The median CPU time of a call in seconds; the functions take turns, a block of calls each, after a warm-up."""
    times = [[] for _ in calls]
    for number in range(rounds + 1):
        for call, spent in zip(calls, times, strict=True):
            start = time.process_time()
            for _ in range(block):
                call()
            if number:
                spent.append((time.process_time() - start) / block)
    return [statistics.median(spent) for spent in times]


def against_pytorch():
    print("d     brns [ms]   PyTorch [ms]   ratio    at most")
    for d, target in TARGETS.items():
        mine, other = medians([ours(d), theirs(d)], block=max(2, 64 // d))
        verdict = "" if mine / other <= target else "   missed"
        print(f"{d:<4}{1e3 * mine:10.2f}{1e3 * other:14.2f}{mine / other:10.3f}{target:10.3f}{verdict}", flush=True)


def fixed_width():
    usual, fixed = medians([ours(256), ours(256, width=64)], block=2)
    print(f"d = 256, width 768: {1e3 * usual:.2f} ms; width=64: {1e3 * fixed:.2f} ms, {fixed / usual:.3f} of it")


def constancy():
    """A run from generation 10 on against a run from generation 1000 on, in turns."""
    for d in (2, 32):
        young, old = ours(d), ours(d)
        for _ in range(990):
            old()
        early, late = medians([young, old], rounds=30)
        print(f"d = {d}: generation 1000 costs {late / early:.3f} of generation 10 ({1e3 * early:.2f} ms)")


def main():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, before JAX counts them
    import torch

    torch.set_num_threads(1)
    against_pytorch()
    fixed_width()
    constancy()


if __name__ == "__main__":
    main()
