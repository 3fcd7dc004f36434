"""A run on disk: a directory that NumPy alone can read, that no crash can spoil, and that can run no code.

    run.json                the experiment with every setting, the seed, versions, commit, format
    generations/000123.npz  offspring.* (all columns), survivors.* (all but the genotype, which stands in the offspring
                            of the generation where it was born), parents.id and parents.novelty (as selected by)
    states/000123.npz       the search's state after generation 123, one entry a leaf, named by its path
    lock                    empty; locked by the process that writes, so that no second one does

Generation 0 holds the founders. How files are written and read stands in `storage`.
"""

import json
import operator
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from brns.core import Box, Generation, Population
from brns.runs.settings import build, describe
from brns.runs.storage import RecordError, members, named_leaves, read_arrays, restore, write_arrays, write_bytes
from brns.search import NoveltySearch, SearchState

if TYPE_CHECKING:
    import pandas

FORMAT = 1
PACKAGES = ("brns", "jax", "jaxlib", "equinox", "optax", "numpy")


# The columns of a generation's file, beside offspring.genotype.
FACTS = (
    *(f"{who}.{column}" for who in ("offspring", "survivors") for column in Population._fields if column != "genotype"),
    "parents.id",
    "parents.novelty",
)

# Those of which `turnover` is made.
TURNOVER = ("offspring.solved", "survivors.novelty", "survivors.fitness", "survivors.born")


def _count(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least


# What run.json must hold, beside the format, and when each is sound.
FORM: dict[str, Callable[[Any], bool]] = {
    "experiment": lambda value: isinstance(value, dict),
    "generations": _count(1),
    "keep_every": _count(1),
    "seed": _count(0),
    "seeds": lambda value: isinstance(value, list) and bool(value) and all(map(_count(0), value)),
    "versions": lambda value: isinstance(value, dict),
}


class Record:
    """A run read back from its directory.

    `seed`, `experiment` (every setting as nested JSON), `versions`, `commit` and `command` are facts of the run;
    `generations` are the finished ones, 0 for the founders; `snapshots` those whose state is kept.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        try:
            facts = json.loads((self.path / "run.json").read_text())
        except FileNotFoundError:
            raise RecordError(f"{self.path} is not a run: it has no run.json") from None
        except OSError as error:
            raise RecordError(f"{self.path / 'run.json'} cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError) as error:
            raise RecordError(f"{self.path / 'run.json'} is not JSON ({error}); it was edited or cut short") from None
        if not isinstance(facts, dict) or type(facts.get("format")) is not int:
            raise RecordError(f"{self.path / 'run.json'} names no format version; it is not a run of brns")
        if facts["format"] > FORMAT:
            raise RecordError(
                f"{self.path} has format {facts['format']}, and this version of brns reads up to {FORMAT}; update brns"
            )
        missing = [name for name in FORM if name not in facts]
        if missing:
            raise RecordError(f"{self.path / 'run.json'} lacks {', '.join(missing)}; it was edited")
        wrong = [f"{name}={facts[name]!r:.40}" for name, sound in FORM.items() if not sound(facts[name])]
        if wrong:
            raise RecordError(f"{self.path / 'run.json'} was edited: no run has {', '.join(wrong)}")
        self.experiment: dict[str, Any] = facts["experiment"]
        self.seed: int = facts["seed"]
        self.seeds: list[int] = facts["seeds"]
        self.keep_every: int = facts["keep_every"]
        self.versions: dict[str, str] = facts["versions"]
        self.facts: dict[str, Any] = facts
        self._read: dict[int, dict[str, np.ndarray]] = {}  # what was read of each generation
        self._like: tuple[NoveltySearch, SearchState] | None = None  # the shape of a state, worked out once

    def __repr__(self) -> str:
        return f"Record({str(self.path)!r}, seed={self.seed}, generations={len(self.generations)})"

    @classmethod
    def create(
        cls,
        path: str | os.PathLike,
        search: NoveltySearch,
        seed: int,
        seeds: Iterable[int],
        generations: int,
        keep_every: int,
    ) -> "Record":
        """A new, empty run. `path` must not hold one already."""
        path = Path(path)
        refuse_existing(path)
        try:
            for folder in ("generations", "states"):
                (path / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"could not make {path} ({error.strerror}): choose another place") from error
        space = search.task.behavior_space
        facts = {
            "format": FORMAT,
            "experiment": describe(search),
            "behavior_space": {"low": np.asarray(space.low).tolist(), "high": np.asarray(space.high).tolist()},
            "seed": seed,
            "seeds": list(seeds),
            "generations": generations,
            "keep_every": keep_every,
            "command": command(),
            "commit": commit(),
            "versions": {name: metadata.version(name) for name in PACKAGES}
            | {"python": platform.python_version(), "machine": platform.machine(), "device": jax.default_backend()},
        }
        write_bytes(path / "run.json", json.dumps(facts, indent=1).encode())
        return cls(path)

    @property
    def generations(self) -> list[int]:
        """The finished generations, from 0."""
        numbers = _numbers(self.path / "generations")
        gap = next((i for i, g in enumerate(numbers) if i != g), None)
        if gap is not None:
            raise RecordError(f"{self.path} lacks generation {gap} though it has {numbers[-1]}; a file was removed")
        return numbers

    @property
    def snapshots(self) -> list[int]:
        """The generations whose state is on disk."""
        return _numbers(self.path / "states")

    @cached_property
    def search(self) -> NoveltySearch:
        """The experiment rebuilt from its description; `SettingsError` where a part is not one of brns' own."""
        return build(self.experiment)

    @property
    def behavior_space(self) -> Box:
        """The box of behaviors, from the record alone; only for runs made before it was stored, of `search`."""
        if (stored := self.facts.get("behavior_space")) is None:
            return self.search.task.behavior_space
        return Box(stored["low"], stored["high"])

    @property
    def planned(self) -> int:
        """How many generations the run was last asked for."""
        return self.facts["generations"]

    def plan(self, generations: int) -> None:
        """Ask for another number of generations than the run was started for."""
        if generations > self.planned:
            self.facts["generations"] = generations
            write_bytes(self.path / "run.json", json.dumps(self.facts, indent=1).encode())

    def append(self, number: int, generation: Generation) -> None:
        """Save one generation's facts."""
        columns = {name: operator.attrgetter(name)(generation) for name in ("offspring.genotype", *FACTS)}
        write_arrays(self.path / "generations" / _file(number), columns)

    def checkpoint(self, state: SearchState) -> None:
        """Save the search's state."""
        write_arrays(self.path / "states" / _file(int(state.generation)), named_leaves(state))

    def forget(self, number: int) -> None:
        """Drop the state of a generation that the stride does not keep."""
        if number % self.keep_every:
            (self.path / "states" / _file(number)).unlink(missing_ok=True)

    def tidy(self, number: int) -> None:
        """Remove what a killed process left behind: files it had not finished, states that only it would go on from.

        `number` is the generation whose state the run goes on from.
        """
        for pattern in (".run.*.tmp.json", ".progress.*.tmp.csv", "generations/.*.tmp.npz", "states/.*.tmp.npz"):
            for unfinished in self.path.glob(pattern):
                unfinished.unlink(missing_ok=True)
        for state in self.snapshots:
            if state != number:
                self.forget(state)

    def column(self, name: str, generations: Iterable[int] | None = None) -> np.ndarray:
        """One column over generations, stacked: `column("survivors.descriptor")` is `(g, mu, d)`.

        By default over all generations for survivors and from 1 on for offspring and parents, since the founders are
        the offspring of generation 0.
        """
        if generations is None:
            generations = [g for g in self.generations if g or name.startswith("survivors.")]
        generations = list(generations)
        columns = [self._generation(g, (name,))[name] for g in generations]
        for g, column in zip(generations, columns, strict=True):
            if column.shape != columns[0].shape:
                raise RecordError(
                    f"{self.path}: {name} has shape {columns[0].shape} in generation {generations[0]} and "
                    f"{column.shape} in generation {g}, which do not stack"
                )
        return np.stack(columns)

    def read(self, number: int, names: Iterable[str]) -> dict[str, np.ndarray]:
        """These columns of one generation, read anew."""
        path = self.path / "generations" / _file(number)
        arrays = _read_generation(path, names)
        for name in names:
            if name not in arrays:
                raise RecordError(f"{path} has no column {name!r}; it has {', '.join(members(path))}")
        return arrays

    def state(self, number: int, search: NoveltySearch | None = None) -> SearchState:
        """The search's state after a generation; `search` is needed where a part is the user's own."""
        path = self.path / "states" / _file(number)
        if not path.exists():
            raise RecordError(
                f"{self.path} keeps no state of generation {number}; it has {_ranges(self.snapshots)}. "
                "The states of all generations are kept by `brns run ... --keep-every 1`"
            )
        if self._like is None or self._like[0] is not (search or self.search):
            self._like = search or self.search, (search or self.search).state_shape()
        return restore(self._like[1], read_arrays(path), path)

    def solutions(self) -> Population:
        """The solution set S of Algorithm 1: every success once, with genotype, behavior and generation of birth."""
        found = []
        for g in self.generations:
            columns = self._generation(g, [f"offspring.{k}" for k in Population._fields])
            rows = columns["offspring.solved"]
            found.append([columns[f"offspring.{k}"][rows] for k in Population._fields])
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        return Population(*columns)  # ty: ignore[invalid-argument-type]

    def genotypes(self, ids: np.ndarray, born: np.ndarray) -> np.ndarray:
        """The genotypes of individuals, from the generations where they were born."""
        rows: dict[int, np.ndarray] = {}
        for g in np.unique(born):
            columns = self._generation(int(g), ("offspring.id", "offspring.genotype"))
            rows |= dict(zip(columns["offspring.id"].tolist(), columns["offspring.genotype"], strict=True))
        unknown = [i for i in ids.tolist() if i not in rows]
        if unknown:
            raise RecordError(
                f"{self.path}: of generations {_ranges(sorted(set(born.tolist())))} no individual has the id "
                f"{_ranges(unknown)}; give ids and generations of birth as the columns id and born hold them"
            )
        return np.stack([rows[i] for i in ids.tolist()])

    def frame(self) -> "pandas.DataFrame":
        """One row a generation: novelty, fitness, age, successes. Needs pandas: `pip install 'brns[frame]'`."""
        import pandas

        rows = []
        for g in self.generations:
            c = self._generation(g, ())
            rows.append(
                {
                    "seed": self.seed,
                    "generation": g,
                    "evaluations": c["offspring.id"].size,
                    **turnover(g, c),
                }
            )
        frame = pandas.DataFrame(rows)
        frame["evaluations"], frame["solutions"] = frame["evaluations"].cumsum(), frame["solved"].cumsum()
        return frame

    def _generation(self, number: int, names: Iterable[str]) -> dict[str, np.ndarray]:
        if not set(FACTS).issuperset(names):
            return self.read(number, names)
        if number not in self._read:  # the facts are little, and asked for again and again
            self._read[number] = self.read(number, FACTS)
        return self._read[number]


def turnover(number: int, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """One generation in numbers: the survivors' novelty, fitness and age, how many are new, and how many solved."""
    novelty, fitness, born = (columns[f"survivors.{name}"] for name in ("novelty", "fitness", "born"))
    return {
        "novelty_mean": float(novelty.mean(dtype=np.float64)),
        "novelty_max": float(novelty.max()),
        "fitness_mean": float(fitness.mean(dtype=np.float64)),
        "fitness_max": float(fitness.max()),
        "age_mean": float((number - born).mean()),
        "survivors_new": int((born == number).sum()),
        "solved": int(columns["offspring.solved"].sum()),
    }


def refuse_existing(path: Path) -> None:
    """A `RecordError` where something is at the path already: nothing is ever written over."""
    if path.exists() and any(path.iterdir() if path.is_dir() else [path]):
        raise RecordError(f"{path} exists already; resume it (brns resume {path}), remove it, or choose another place")


def records(path: str | os.PathLike, search: NoveltySearch | None = None) -> list[Record]:
    """The run in a directory, or the runs of several seeds that stand side by side in it.

    `search`, the experiment that made them, is for those of your own parts.
    """
    path = Path(path)
    if (path / "run.json").exists() or not path.is_dir():
        found = [Record(path)]
    else:
        found = [Record(child.parent) for child in sorted(path.glob("*/run.json"))]
    if not found:
        raise RecordError(f"{path} is not a run and holds none: there is no run.json in it or one folder below")
    for record in found:
        if search is not None:
            record.search = search
    return sorted(found, key=lambda record: record.seed)


def _read_generation(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Those columns of a generation, in which every individual has a row."""
    arrays = read_arrays(path, names)
    for who in Generation._fields:
        if len({array.shape[:1] for name, array in arrays.items() if name.startswith(f"{who}.")}) > 1:
            raise RecordError(f"{path} was edited: the columns of its {who} are not of one length")
    return arrays


def _file(number: int) -> str:
    return f"{number:06d}.npz"


def _numbers(folder: Path) -> list[int]:
    return sorted(int(file.stem) for file in folder.glob("[0-9]*.npz"))


def _ranges(numbers: list[int]) -> str:
    """Numbers as a person lists them: `0, 10 ... 400 (41 of them)`."""
    if len(numbers) < 4:
        return ", ".join(map(str, numbers)) or "none"
    return f"{numbers[0]}, {numbers[1]} ... {numbers[-1]} ({len(numbers)} of them)"


def command() -> str:
    """What was called, as one calls it: brns, one of the checkout's benchmarks, or another script."""
    script = Path(sys.argv[0])
    program = f"python {script.parent.name}/{script.name}" if script.parent.name == "benchmarks" else script.name
    return " ".join(["brns" if program == "__main__.py" else program, *sys.argv[1:]])


def commit() -> str | None:
    """The commit of the checkout that brns runs from, with a plus sign where it was changed; None outside one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
