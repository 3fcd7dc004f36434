"""A novelty estimator of this library in pyribs: an archive whose `add` returns the novelty of a
batch, and learns the batch.

    python examples/pyribs_novelty.py            (needs pip install 'ribs>=0.12')

The emitter and its novelty ranker are from pyribs. Like pyribs' DensityArchive, this archive stores
no elites: the scheduler's `result_archive` does.
"""

import numpy as np
from ribs.archives import GridArchive
from ribs.emitters import EvolutionStrategyEmitter
from ribs.schedulers import Scheduler

import brns
from brns.interoperation.pyribs import NoveltyArchive


def tip(solutions):
    """Where arms of seven joints end, in [-1, 1]^2."""
    angles = np.cumsum(solutions, axis=1)
    return np.stack([np.cos(angles).mean(axis=1), np.sin(angles).mean(axis=1)], axis=1)


if __name__ == "__main__":
    archive = NoveltyArchive(brns.VisitCounts(), brns.Box([-1, -1], [1, 1]), solution_dim=7)
    result = GridArchive(solution_dim=7, dims=(20, 20), ranges=[(-1, 1), (-1, 1)])
    strategy = {"x0": np.zeros(7), "sigma0": 0.2, "es": "sep_cma_es", "batch_size": 30}
    emitter = EvolutionStrategyEmitter(archive, ranker="nov", **strategy, seed=0)
    scheduler = Scheduler(archive, [emitter], result_archive=result)
    for generation in range(1, 101):
        solutions = scheduler.ask()
        scheduler.tell(np.zeros(len(solutions)), tip(solutions))
        if generation in (1, 10, 50, 100):
            print(
                f"generation {generation:3d}: {result.stats.coverage:.0%} of a 20 x 20 grid visited"
            )
