"""What the metrics read of a run."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from jaxtyping import Array

from brns.core import Box, Population
from brns.formatting import format_numbers_with_ellipsis

Numbers = Array | np.ndarray
"""of JAX or of NumPy"""
NoveltySearch = Any
"""a search: `brns.NoveltySearch`, or what has its `task` and its `estimator`"""


class Recorded(Protocol):
    """What measures read of a run, each as in `brns.Record`."""

    @property
    def path(self) -> Any: ...

    @property
    def seed(self) -> int: ...

    @property
    def experiment(self) -> dict[str, Any]: ...

    @property
    def behavior_space(self) -> Box: ...

    @property
    def generations(self) -> list[int]: ...

    @property
    def generations_with_states(self) -> list[int]: ...

    @property
    def search(self) -> NoveltySearch: ...

    @property
    def search_or_none(self) -> NoveltySearch | None: ...

    @property
    def failures(self) -> Sequence[Any]: ...

    def column(self, name: str, generations: Iterable[int] | None = None) -> np.ndarray: ...

    def state(self, number: int, search: NoveltySearch | None = None) -> Any: ...

    def genotypes(self, ids: np.ndarray, born: np.ndarray) -> np.ndarray: ...


if TYPE_CHECKING:
    Record = Recorded
else:  # Python 3.11 would read every property to check at run time whether a run has it
    Record = Any


def read_valid_rows_by_generation(record: Record, column: str) -> list[np.ndarray]:
    """A column of all who were evaluated and did not fail: one array a generation from 0 on."""
    rows = []
    for g in record.generations:
        living = ~record.column("offspring.failed", [g])[0]
        rows.append(record.column(f"offspring.{column}", [g])[0][living])
    return rows


def count_evaluations(record: Record) -> np.ndarray:
    """Individuals evaluated until each generation, founders included."""
    numbers = [record.column("offspring.id", [g]).size for g in record.generations]
    numbers[0] += sum(failure.generation == 0 for failure in record.failures)
    return np.cumsum(numbers)


PLAIN = tuple(column for column in Population._fields if column != "genotype")
"""the columns of individuals that are stored of everybody"""


def read_all_evaluated(record: Record, names: Sequence[str] = PLAIN) -> dict[str, np.ndarray]:
    """Columns of all who were born, also of those who failed; row i is the individual with id i."""
    columns = {}
    for name in names:
        born = [record.column(f"offspring.{name}", [g])[0] for g in record.generations]
        columns[name] = np.concatenate(born)
    return columns


def require_states(
    record: Record, what: str, generations: Sequence[int] | None = None, least: int = 1
) -> list[int]:
    """Generations whose states a measure reads, by default all; refused if missing or too few."""
    snapshots = record.generations_with_states
    requested = snapshots if generations is None else list(generations)
    if len(requested) < least or requested != sorted(set(requested) & set(snapshots)):
        raise ValueError(
            f"{what} needs the search's states, {least} or more and in order; asked for were "
            f"{format_numbers_with_ellipsis(requested)}, and {record.path} keeps "
            f"{format_numbers_with_ellipsis(snapshots)}. Run it again with checkpoint_every=1 "
            "(--checkpoint-every 1)"
        )
    return requested
