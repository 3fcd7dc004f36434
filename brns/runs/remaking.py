"""Genotypes that are not on disk are made again from the seed, and compared with what was born.

Those who died at once without a solution are not stored. Of every generation a digest of all
genotypes is, which tells equal bits, and a fingerprint of each, which tells equal up to rounding:
another machine or version may round otherwise.
"""

import hashlib
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Bool, Float

from brns.core import Box, Generation
from brns.formatting import escape_control
from brns.runs.files import RecordError
from brns.runs.provenance import read_sources
from brns.search import derive_keys, generate_offspring
from brns.settings.differences import format_diff
from brns.settings.edits import diff_code_by_name, discard_compiled_if_edited

GENOTYPE = "offspring.genotype"
CHECKED = 5
"""generations whose genotypes are made again before a run goes on elsewhere"""
ROUNDING = 1e-4
"""as a share of the box, between a gene on disk and the same one made again"""
SPREAD = 1e-5
"""the same of a fingerprint, for each square root of the number of genes: roundings add up so"""
GOLDEN = (5**0.5 - 1) / 2
Keep = Literal["survivors", "all"]
"""which genotypes a run stores: of survivors and solutions, or everybody's"""
Likeness = Literal["exact", "rounded", "other"]


def make_genotype_and_digest_columns(
    generation: Generation, space: Box, keep: Keep, stored: Bool[np.ndarray, " n"]
) -> dict[str, np.ndarray]:
    """What a generation's file holds of genotypes; `stored` are survivors and solutions."""
    genotypes = np.asarray(generation.offspring.genotype)
    if keep == "all":
        stored = np.ones_like(stored)
    return {
        "stored": stored,
        GENOTYPE: genotypes[stored],
        "digest": digest_genotypes_together(genotypes),
        "fingerprint": project_genotypes(genotypes, space),
    }


def digest_genotypes_together(genotypes: Float[np.ndarray, "n p"]) -> np.ndarray:
    """Eight bytes of all bits."""
    content = np.ascontiguousarray(genotypes, "<f4").tobytes()
    return np.frombuffer(hashlib.blake2b(content, digest_size=8).digest(), np.uint8)


def project_genotypes(genotypes: Float[np.ndarray, "n p"], space: Box) -> Float[np.ndarray, " n"]:
    r"""$\sum_i w_i (x_i - low_i) / (high_i - low_i)$ of each, in float64, with weights of either
    sign, from 0.5 to 1 in size.
    """
    low, high = (np.asarray(bound, np.float64) for bound in (space.low, space.high))
    fraction = np.arange(1, len(low) + 1) ** 2 * GOLDEN % 1
    weights = np.where(fraction < 0.5, fraction - 1, fraction)
    return ((genotypes - low) / (high - low) * weights).sum(axis=1)


def compare_with_stored(facts: Mapping[str, Any], again: Any, space: Box) -> Likeness:
    """How the offspring that `search.ask` made again compare with the facts of a generation's file:
    the same bits are `exact`; `rounded`, each gene of those on disk and each fingerprint agree up
    to rounding.
    """
    genotypes = np.asarray(again.genotype)
    if not np.array_equal(again.parent, facts["offspring"]["parent"]):
        return "other"
    if np.array_equal(digest_genotypes_together(genotypes), facts["digest"]):
        return "exact"
    width = np.asarray(space.high - space.low)
    far = np.abs(genotypes[facts["stored"]] - facts[GENOTYPE]) > ROUNDING * width
    distance = np.abs(project_genotypes(genotypes, space) - facts["fingerprint"])
    return "other" if far.any() or (distance > SPREAD * len(width) ** 0.5).any() else "rounded"


def read_or_remake_genotypes(
    record: Any, number: int, requested: Bool[np.ndarray, " n"] | None = None
) -> Float[np.ndarray, "n p"]:
    """The genotypes born in a generation; those neither stored nor `requested` may be zeros."""
    facts = record.read_generation_arrays(number)
    stored, genotypes = facts["stored"], facts[GENOTYPE]
    lacking = ~stored if requested is None else requested & ~stored
    everybody = np.zeros((len(stored), genotypes.shape[1]), genotypes.dtype)
    if lacking.any():
        everybody, like = remake_and_compare(record, number)
        if like == "other":  # maybe by a program of code that was edited since
            discard_compiled_if_edited(read_sources(record.search))
            everybody, like = remake_and_compare(record, number)
        if like == "other":
            raise RecordError(_explain_inexact_recomputation(record, number, like))
        if like == "rounded" and not record.warned_of_rounding:
            record.warned_of_rounding = True
            warnings.warn(_explain_inexact_recomputation(record, number, like), stacklevel=2)
    everybody[stored] = genotypes
    return everybody


def remake_and_compare(record: Any, number: int) -> tuple[np.ndarray, Likeness]:
    """The genotypes of a generation made again, and how they compare with what was born."""
    search = record.search
    space, key = search.task.genotype_space, derive_keys(jax.random.key(record.seed), number)[0]
    # As `search.ask`, which wants a state with its estimator's: that is stored of few generations.
    parents = record.state_without_estimator(number - 1, search)
    again = generate_offspring(
        search.mutate_as_mixture, space, search.offspring_size, search.tournament, parents, key
    )
    facts = record.read_generation_arrays(number)
    return np.array(again.genotype), compare_with_stored(facts, again, space)


def warn_unless_exact(record: Any) -> None:
    """Warn where genotypes that are not on disk cannot be made again here to the bit.

    It is asked before a run goes on with another version, machine or code: later nobody may have
    the old one.
    """
    numbers = record.generations[1:]
    some = numbers[:: max(len(numbers) // CHECKED, 1)]
    lacking = [g for g in some if not record.read_generation_arrays(g)["stored"].all()]
    alike = {g: remake_and_compare(record, g)[1] for g in lacking}
    for like in ("other", "rounded"):
        if wrong := [g for g in lacking if alike[g] == like]:
            warnings.warn(_explain_inexact_recomputation(record, wrong[0], like), stacklevel=2)
            return


def _explain_inexact_recomputation(record: Any, number: int, like: Likeness) -> str:
    """How the genotypes of a generation that are not on disk are not what they were, and why."""
    how = "cannot be made again here" if like == "other" else "are made again up to rounding"
    why = _explain_difference(record, number, like)
    return escape_control(
        f"{record.path} has only genotypes of survivors and solutions; those of others {how}, as "
        f"in generation {number}: {why}. Read them where they were made; "
        'genotypes="all" (--genotypes all) stores everybody\'s in a run that begins'
    )


def _explain_difference(record: Any, number: int, like: Likeness) -> str:
    """What differs here from where a generation was computed, in words."""
    metadata = record.metadata
    sessions = [part for part in metadata.sessions if part.after < number]
    if not sessions:
        return "another search, version or machine made the run that this is a fork of"
    if changed := sessions[-1].find_differences_here():
        return f"they were made elsewhere, where {format_diff(changed)}"
    before, now = metadata.get_sources_at(number), read_sources(record.search)
    if edited := diff_code_by_name(before, now, metadata.changing):
        return f"your own code was edited since: {', '.join(edited)}"
    if like == "rounded":
        return "a program that makes them alone rounds otherwise than one of a whole generation"
    return (
        "the search, or brns itself, varies otherwise than the one that made them; of operators of "
        "your own check_mutation tells whether they draw by their key alone"
    )
