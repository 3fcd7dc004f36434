"""Genotypes on disk: of offspring only the genes in which they differ from their parent, and so a tenth of the bytes.

A generation's file holds `mutations.where`, a bit a gene (`numpy.packbits`), row i of offspring i, and
`mutations.genes`, the new genes of all offspring in turn. A gene counts as new where a bit of it is, so that a genotype
comes back to the bit. Founders stand whole, as `offspring.genotype`, and so do offspring that share too little with
their parents.

Who lives in a generation is worked out from the last state kept before it, which holds the survivors whole, or from the
founders, one generation after another.
"""

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brns.core import Generation
from brns.metrics.numbers import ranges
from brns.runs.columns import read_columns
from brns.runs.storage import RecordError, Seal, file_name, read_arrays

if TYPE_CHECKING:
    from brns.runs.record import Record

WHOLE = "offspring.genotype"
MUTATIONS = ("mutations.where", "mutations.genes")
ENTRY = ("population.id", "population.genotype")
"""of a state: who lived, and with which genes"""


class Living(NamedTuple):
    """Individuals by id, and their genotypes."""

    id: np.ndarray
    genotype: np.ndarray

    def of(self, ids: np.ndarray) -> np.ndarray:
        """The genotypes of these individuals; a `KeyError` with those that are not among them."""
        order = np.argsort(self.id)
        rows = order[np.searchsorted(self.id, ids, sorter=order) % len(order)]
        if (strangers := ids[self.id[rows] != ids]).size:
            raise KeyError(strangers.tolist())
        return self.genotype[rows]


def written(generation: Generation) -> dict[str, np.ndarray]:
    """The columns that hold the offspring's genotypes."""
    genotype, parent = np.asarray(generation.offspring.genotype), np.asarray(generation.offspring.parent)
    parents = Living(np.asarray(generation.parents.id), np.asarray(generation.parents.genotype))
    if not np.isin(parent, parents.id).all():  # founders have no parents
        return {WHOLE: genotype}
    where = _bits(genotype) != _bits(parents.of(parent))
    if where.mean() > 0.9:  # the bits that say where would cost what they save
        return {WHOLE: genotype}
    return dict(zip(MUTATIONS, (np.packbits(where, axis=1), genotype[where]), strict=True))


def _bits(genotype: np.ndarray) -> np.ndarray:
    """Numbers of which two are the same only where every bit is: 0 and -0 are not."""
    return genotype.view(f"u{genotype.dtype.itemsize}")


class Genotypes:
    """The genotypes of a record's individuals."""

    def __init__(self, record: "Record"):
        self.record = record
        self._last: tuple[int, Living] | None = None  # who lived when last asked, from where the next is a step

    def offspring(self, number: int) -> np.ndarray:
        """The genotypes of all that were born in a generation."""
        columns = self._columns(number, (*MUTATIONS, WHOLE, "offspring.parent"))
        return self._born(number, columns, None if WHOLE in columns else self._living(number - 1))

    def of(self, ids: np.ndarray, born: np.ndarray) -> np.ndarray:
        """The genotypes of individuals that were born in these generations."""
        if not ids.size:
            return self.offspring(0)[:0]
        rows: dict[int, np.ndarray] = {}
        for g in np.unique(born).tolist():
            rows |= dict(
                zip(self._columns(g, ("offspring.id",))["offspring.id"].tolist(), self.offspring(g), strict=True)
            )
        if unknown := [i for i in ids.tolist() if i not in rows]:
            raise RecordError(
                f"{self.record.path}: of generations {ranges(sorted(set(born.tolist())))} no individual has the id "
                f"{ranges(unknown)}; give ids and generations of birth as the columns id and born hold them"
            )
        return np.stack([rows[i] for i in ids.tolist()])

    def _living(self, number: int) -> Living:
        """Those who lived after a generation."""
        at, living = self._start(number)
        for g in range(at + 1, number + 1):
            columns = self._columns(g, (*MUTATIONS, WHOLE, "offspring.parent", "offspring.id", "survivors.id"))
            everyone = Living(columns["offspring.id"], self._born(g, columns, living))
            if living is not None:
                everyone = Living(*(np.concatenate(pair) for pair in zip(living, everyone, strict=True)))
            ids = columns["survivors.id"]
            living = Living(ids, self._of(g, everyone, ids))
        assert living is not None
        self._last = number, living
        return living

    def _start(self, number: int) -> tuple[int, Living | None]:
        """The last generation up to `number` of which it is known who lived; -1 and nobody before the founders."""
        last = self._last if self._last is not None and self._last[0] <= number else (-1, None)
        for kept in range(number, last[0], -1):
            with contextlib.suppress(RecordError, KeyError):  # one that is not kept, or damaged, costs time alone
                path = self.record.path / "states" / file_name(kept)
                arrays = read_arrays(path, Seal(self.record.identifier, kept), ENTRY)
                return kept, Living(*(arrays[name] for name in ENTRY))
        return last

    def _born(self, number: int, columns: Mapping[str, np.ndarray], living: Living | None) -> np.ndarray:
        """The offspring of a generation, as its file and their parents tell."""
        if WHOLE in columns:
            return columns[WHOLE]
        if living is None or not set(MUTATIONS) <= set(columns):
            raise RecordError(f"{self.record.path} was edited: generation {number} has no genotypes")
        genotype, where, genes = self._of(number, living, columns["offspring.parent"]), *(columns[m] for m in MUTATIONS)
        n, p = genotype.shape
        fits = where.dtype == np.uint8 and where.shape == (n, -(-p // 8)) and genes.dtype == genotype.dtype
        changed = np.unpackbits(where, axis=1, count=p).astype(bool) if fits else None
        if changed is None or changed.sum() != genes.size:
            raise RecordError(f"{self.record.path} was edited: the mutations of generation {number} fit no genotypes")
        genotype[changed] = genes
        return genotype

    def _of(self, number: int, living: Living, ids: np.ndarray) -> np.ndarray:
        try:
            return living.of(ids)
        except KeyError as error:
            raise RecordError(
                f"{self.record.path} was edited: generation {number} names individuals {error}, who did not live"
            ) from None

    def _columns(self, number: int, names: Iterable[str]) -> dict[str, np.ndarray]:
        path = self.record.path / "generations" / file_name(number)
        return read_columns(path, Seal(self.record.identifier, number), names)
