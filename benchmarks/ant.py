"""Speed of the ant maze against bare MuJoCo, against itself on two cores, and against a loop over Gymnasium's Ant.

    python benchmarks/ant.py [--steps 300] [--rounds 5]

All runs have the same model, integrator, genotypes (25, drawn from the box) and number of control steps, and take
turns within a round; ratios are medians over rounds. One-core figures are CPU time on a single core; the others are by
the wall clock, and mean something on a machine with two idle cores only. How much faster two cores are at all is seen
from two processes of bare mj_step, with half of the ants each. The loop over Gymnasium's Ant-v5 needs imageio (`pip
install imageio`), and its policy is in PyTorch (`pip install torch==2.13.0`), as in the published code; without PyTorch
it is NumPy's, and the output says so.
"""

import argparse
import contextlib
import importlib
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import gymnasium
import numpy as np

from brns.tasks.ant.model import ant_xml
from brns.tasks.ant.rules import POLICY, AntMaze, observation

mujoco: Any = importlib.import_module("mujoco")
POPULATION = 25


def bare(task: AntMaze, genotypes: np.ndarray) -> Callable[[], None]:
    """mj_step alone, with the controls that the policies gave, recorded beforehand."""
    model = mujoco.MjModel.from_xml_string(ant_xml(task.arena, task.integrator))
    data = mujoco.MjData(model)
    controls = np.empty((len(genotypes), task.steps, 8))
    policies = POLICY.on_host(genotypes)
    for i in range(len(genotypes)):
        mujoco.mj_resetData(model, data)
        own = policies[i : i + 1]
        for t in range(task.steps):
            state = np.concatenate([[data.time], data.qpos, data.qvel])[None]
            data.ctrl[:] = controls[i, t] = own(observation(state))[0]
            mujoco.mj_step(model, data, nstep=task.frame_skip)

    def run() -> None:
        for own in controls:
            mujoco.mj_resetData(model, data)
            for control in own:
                data.ctrl[:] = control
                mujoco.mj_step(model, data, nstep=task.frame_skip)

    return run


class Apart:
    """Bare mj_step in two processes that share nothing, half of the ants in each."""

    def __init__(self, task: AntMaze, genotypes: np.ndarray):
        spawn = multiprocessing.get_context("spawn")
        self.pipes = []
        for half in np.array_split(genotypes, 2):
            pipe, there = spawn.Pipe()
            spawn.Process(target=_steps, args=(task, half, there), daemon=True).start()
            pipe.recv()
            self.pipes.append(pipe)

    def __call__(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)
        for pipe in self.pipes:
            pipe.recv()


def _steps(task: AntMaze, genotypes: np.ndarray, pipe: Connection) -> None:
    run = bare(task, genotypes)
    with contextlib.suppress(EOFError):  # the benchmark has ended
        while True:
            pipe.send(None)
            pipe.recv()
            run()


def gymnasium_loop(task: AntMaze, genotypes: np.ndarray) -> tuple[str, Callable[[], None]] | None:
    """One Gymnasium Ant after the other, the policy asked once a step, as the published code does."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(ant_xml(task.arena, task.integrator))
        file.flush()
        try:
            env = gymnasium.make(
                "Ant-v5",
                xml_file=file.name,
                frame_skip=task.frame_skip,
                max_episode_steps=task.steps,
                terminate_when_unhealthy=False,
                reset_noise_scale=0.0,
                exclude_current_positions_from_observation=False,
                include_cfrc_ext_in_observation=False,
            )
        except ImportError as error:
            print(f"no Gymnasium loop: {error}")
            return None
    kind, policies = _policies(genotypes)

    def run() -> None:
        for policy in policies:
            sensed, _ = env.reset()
            for _ in range(task.steps):
                sensed[:2] = (sensed[:2] - 5) / 70
                sensed = env.step(policy(sensed))[0]

    return kind, run


def _policies(genotypes: np.ndarray) -> tuple[str, list[Callable[[np.ndarray], np.ndarray]]]:
    """One policy a genotype, in PyTorch if it is there."""
    policies = POLICY.on_host(genotypes)
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        alone = [policies[i : i + 1] for i in range(len(genotypes))]
        return "NumPy", [lambda sensed, own=own: own(sensed[None])[0] for own in alone]
    torch.set_num_threads(1)

    def policy(i: int) -> Callable[[np.ndarray], np.ndarray]:
        parts = []
        for weights, biases in policies.layers:
            linear = torch.nn.Linear(weights.shape[2], weights.shape[1])
            linear.weight.data, linear.bias.data = torch.tensor(weights[i]).float(), torch.tensor(biases[i]).float()
            parts += [linear, torch.nn.Tanh()]
        network = torch.nn.Sequential(*parts)

        def act(sensed: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return network(torch.from_numpy(sensed).float()).numpy()

        return act

    return "PyTorch", [policy(i) for i in range(len(genotypes))]


def seconds(clock: Callable[[], float], run: Callable[[], object]) -> float:
    start = clock()
    run()
    return clock() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    genotypes = np.random.default_rng(0).uniform(-1, 1, (POPULATION, POLICY.genotype_length)).astype(np.float32)
    total = POPULATION * arguments.steps
    print(
        f"MuJoCo {mujoco.__version__}, {POPULATION} ants x {arguments.steps} control steps, {arguments.rounds} rounds"
    )
    for integrator in ("implicitfast", "RK4"):
        task = AntMaze(steps=arguments.steps, integrator=integrator)
        alone, both = partial(task.episodes, genotypes, 1), partial(task.episodes, genotypes, 2)
        runs = {"bare mj_step": bare(task, genotypes), "AntMaze": alone}
        clocked: dict[str, Callable[[], object]] = {
            "one thread": alone,
            "two threads": both,
            "bare, alone": runs["bare mj_step"],
            "bare, two processes": Apart(task, genotypes),
        }
        loop = gymnasium_loop(task, genotypes)
        if loop:
            runs[f"Gymnasium, {loop[0]}"] = clocked["Gymnasium"] = loop[1]
        times: dict[str, list[float]] = {name: [] for name in (*runs, *clocked)}
        for run in (*runs.values(), *clocked.values()):
            run()
        for _ in range(arguments.rounds):
            os.sched_setaffinity(0, cores[:1])
            for name, run in runs.items():
                times[name].append(seconds(time.process_time, run))
            os.sched_setaffinity(0, cores)
            for name, run in clocked.items():
                times[name].append(seconds(time.perf_counter, run))
        print(f"{integrator}, microseconds a control step, median (least)")
        for name, values in times.items():
            clock = "wall" if name in clocked else "CPU"
            print(f"  {name:20s} {clock:4s} {np.median(values) / total * 1e6:7.1f} ({min(values) / total * 1e6:.1f})")
        print(f"  one core: {ratio(times, 'bare mj_step', 'AntMaze'):.2f} of bare mj_step's speed")
        if loop:
            print(f"  one core: {ratio(times, f'Gymnasium, {loop[0]}', 'AntMaze'):.2f} times the loop's speed")
            print(f"  two threads: {ratio(times, 'Gymnasium', 'two threads'):.2f} times the loop's speed, wall clock")
        print(f"  two threads: {ratio(times, 'one thread', 'two threads'):.2f} times the speed of one, wall clock")
        print(f"  two processes of bare mj_step: {ratio(times, 'bare, alone', 'bare, two processes'):.2f} times one's")


def ratio(times: dict[str, list[float]], slow: str, fast: str) -> float:
    """The median over rounds of one time over another."""
    return float(np.median(np.array(times[slow]) / np.array(times[fast])))


if __name__ == "__main__":
    main()
