"""Whether memory stays flat over a long run: resident megabytes of a small maze search, every 1000 generations.

    python benchmarks/memory.py                  # about ten minutes, on Linux; --generations 2000 is shorter

Each method runs in a process of its own, through `brns.runs.loop.start`, on disk as any run is.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def resident() -> float:
    """Megabytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(method: str, generations: int, every: int) -> None:
    import brns
    from brns.runs.loop import start

    estimator = {"recognition": brns.BehaviorRecognition(), "archive": brns.ArchiveKNN(capacity=10000)}[method]
    search = brns.NoveltySearch(brns.DeceptiveMaze(steps=20), estimator, population_size=20, offspring_size=20)
    with tempfile.TemporaryDirectory() as folder:
        for (saved,) in start(search, generations, out=Path(folder) / "run"):
            if saved.number and saved.number % every == 0:
                print(f"{method:12} generation {saved.number:6d}: {resident():6.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=1000)
    parser.add_argument("--method", choices=["recognition", "archive"], help="this one alone, in this process")
    chosen = parser.parse_args()
    if chosen.method:
        return measure(chosen.method, chosen.generations, chosen.every)
    for method in ("recognition", "archive"):
        subprocess.run([sys.executable, __file__, "--method", method, *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
