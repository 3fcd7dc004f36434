"""A novelty of this library in pyribs: an archive whose `add` says how novel a batch was, and then learns it.

    python examples/pyribs_novelty.py            (needs pip install 'ribs>=0.12')

pyribs' own ProximityArchive compares a batch with its archive alone. `ArchiveKNN` compares with archive and batch, as
novelty search was defined; `BehaviorRecognition` needs neither. The emitter and its novelty ranker are pyribs' own.
As pyribs' DensityArchive, ours stores no elites: the scheduler's `result_archive` does.
"""

import jax
import numpy as np
from ribs.archives import ArchiveBase, GridArchive
from ribs.emitters import EvolutionStrategyEmitter
from ribs.schedulers import Scheduler

import brns


class NoveltyArchive(ArchiveBase):
    empty = False

    def __init__(self, estimator, space, solution_dim, seed=0):
        super().__init__(solution_dim=solution_dim, objective_dim=(), measure_dim=space.dimension)
        self.key, self.number = jax.random.key(seed), 0
        self.state = jax.jit(estimator.init)(space, self.key)
        self.score, self.update = jax.jit(estimator.score), jax.jit(estimator.update)

    @property
    def dtypes(self):
        return dict.fromkeys(("solution", "objective", "measures"), np.float32)

    def add(self, solution, objective, measures, **fields):
        self.number, self.last = self.number + 1, solution
        batch = brns.observed(measures, self.number)
        novelty = self.score(self.state, batch.offspring.descriptor, batch.offspring)
        self.state = self.update(self.state, batch, jax.random.fold_in(self.key, self.number))
        return {"status": np.full(len(measures), 2, np.int32), "novelty": np.asarray(novelty)}

    def sample_elites(self, n, replace=True):
        return {"solution": self.last[:n]}  # where an evolution strategy starts again when it has converged


def tip(solutions):
    """Where arms of seven joints end, in [-1, 1]^2."""
    angles = np.cumsum(solutions, axis=1)
    return np.stack([np.cos(angles).mean(axis=1), np.sin(angles).mean(axis=1)], axis=1)


if __name__ == "__main__":
    archive = NoveltyArchive(brns.BehaviorRecognition(), brns.Box([-1, -1], [1, 1]), solution_dim=7)
    result = GridArchive(solution_dim=7, dims=(20, 20), ranges=[(-1, 1), (-1, 1)])
    strategy = {"x0": np.zeros(7), "sigma0": 0.2, "es": "sep_cma_es", "batch_size": 30}
    emitter = EvolutionStrategyEmitter(archive, ranker="nov", **strategy, seed=0)
    scheduler = Scheduler(archive, [emitter], result_archive=result)
    for generation in range(1, 101):
        solutions = scheduler.ask()
        scheduler.tell(np.zeros(len(solutions)), tip(solutions))
        if generation in (1, 10, 50, 100):
            print(f"generation {generation:3d}: {result.stats.coverage:.0%} of a 20 x 20 grid visited")
