"""A search in a simulator that raises, hangs and crashes.

    python tests/faults/wild_simulator.py OUT [--workers 2] [--generations 200] [--timeout 3]

begins a run of 100 + 100, or goes on with the one in OUT. What happens to an individual depends on
its genotype alone."""

import argparse
import os
import signal
import time
import zlib
from pathlib import Path

import numpy as np

import brns

FATES = {"raises": 0.01, "hangs": 0.012, "crashes": 0.014}
"""up to which share of all genotypes each fate reaches"""


def fate(genotype):
    """What happens to an individual: one of `FATES`, or nothing."""
    share = zlib.crc32(np.asarray(genotype, np.float32).tobytes()) / 2**32
    return next((name for name, most in FATES.items() if share < most), None)


class Wild(brns.LinearProjection):
    traceable = False

    def evaluate(self, genotypes, key):
        fates = {fate(genotype) for genotype in np.asarray(genotypes)}
        if "crashes" in fates:
            os.kill(os.getpid(), signal.SIGKILL)
        if "hangs" in fates:
            time.sleep(3600)
        if "raises" in fates:
            raise ZeroDivisionError("the floor has no friction")
        return super().evaluate(genotypes, key)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--generations", type=int, default=200)
    parser.add_argument("--timeout", type=float, default=3.0)
    asked = parser.parse_args()
    task = Wild(10)
    with brns.Processes(task, asked.workers, timeout=asked.timeout, failures=0.1) as spread:
        search = brns.NoveltySearch(spread, population_size=100, offspring_size=100)
        if (asked.out / "run.json").exists():
            brns.resume(asked.out, asked.generations, search=search)
        else:
            brns.run(search, asked.generations, out=asked.out, genotypes="all")


if __name__ == "__main__":
    main()
