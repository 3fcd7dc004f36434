"""Novelty search in a Gymnasium environment: a car that needs a run-up for its mountain.

    python examples/gymnasium_task.py

Needs pip install 'brns[gymnasium]'; takes about ten seconds.

The reward punishes every push, so it teaches a car to stand still. Novelty search ignores it: the
behavior is how far the car came to the left and to the right, and cars with novel behaviors
survive. If episodes are longer, `brns.Processes(task, workers=8)` in place of `task` spreads them
over processes.
"""

import gymnasium
import jax
import numpy as np

from brns import Box, FeedForward, GymnasiumTask, NoveltySearch


def make_car():
    car = gymnasium.make("MountainCarContinuous-v0")
    return gymnasium.wrappers.RescaleObservation(
        car, np.float32(-1), np.float32(1)
    )  # its speeds are tiny numbers


def reach(episode):
    positions = episode.observations[:, 0]  # -1 and 1: the left and right end of the valley
    return positions.min(), positions.max()


def reached_the_top(episode):
    return episode.terminated


task = GymnasiumTask(
    make_car,
    policy=FeedForward((2, 8, 1), squash_output=True),
    describe=reach,
    behavior_space=Box([-1.0, -1.0], [1.0, 1.0]),
    success=reached_the_top,
    steps=200,
)


def main(generations: int = 10) -> int:
    search = NoveltySearch(task, population_size=20, offspring_size=20)
    key = jax.random.key(0)
    state, solved = search.init(key), 0
    for _ in range(generations):
        state, generation = search.step(state, key)
        solved += int(generation.offspring.solved.sum())
        left, right = np.asarray(generation.offspring.descriptor).T
        span = f"between {left.min():5.2f} and {right.max():5.2f}"
        print(f"generation {int(state.generation):2d}: {span}, {solved} reached the top so far")
    return solved


if __name__ == "__main__":
    main()
