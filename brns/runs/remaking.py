"""Genotypes that are not on disk are made again from the seed, and compared with what was born.

Those who died at once without a solution are not stored. Of every generation a digest of all
genotypes is, which tells equal bits, and a fingerprint of each, which tells equal up to rounding:
another machine or version may round otherwise.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from brns.core import Box, Generation

ROUNDING = 1e-4
"""as a share of the box, between a gene on disk and the same one made again"""
SPREAD = 1e-5
"""the same of a fingerprint, for each square root of the number of genes: roundings add up so"""
GOLDEN = (5**0.5 - 1) / 2
Keep = Literal["survivors", "all"]
"""which genotypes a run stores: of survivors and solutions, or everybody's"""
Likeness = Literal["exact", "rounded", "other"]


def genotype_columns(
    generation: Generation, space: Box, keep: Keep, stored: Bool[np.ndarray, " n"]
) -> dict[str, np.ndarray]:
    """What a generation's file holds of genotypes; `stored` are survivors and solutions."""
    genotypes = np.asarray(generation.offspring.genotype)
    if keep == "all":
        stored = np.ones_like(stored)
    return {
        "stored": stored,
        "offspring.genotype": genotypes[stored],
        "digest": digest(genotypes),
        "fingerprint": fingerprint(genotypes, space),
    }


def digest(genotypes: Float[np.ndarray, "n p"]) -> np.ndarray:
    """Eight bytes of all bits."""
    content = np.ascontiguousarray(genotypes, "<f4").tobytes()
    return np.frombuffer(hashlib.blake2b(content, digest_size=8).digest(), np.uint8)


def fingerprint(genotypes: Float[np.ndarray, "n p"], space: Box) -> Float[np.ndarray, " n"]:
    r"""$\sum_i w_i (x_i - low_i) / (high_i - low_i)$ of each, in float64, with weights of either
    sign, from 0.5 to 1 in size.
    """
    low, high = (np.asarray(bound, np.float64) for bound in (space.low, space.high))
    fraction = np.arange(1, len(low) + 1) ** 2 * GOLDEN % 1
    weights = np.where(fraction < 0.5, fraction - 1, fraction)
    return ((genotypes - low) / (high - low) * weights).sum(axis=1)


def likeness(facts: Mapping[str, Any], again: Any, space: Box) -> Likeness:
    """How the offspring that `search.ask` made again compare with the facts of a generation's file:
    the same bits are `exact`; `rounded`, each gene of those on disk and each fingerprint agree up
    to rounding.
    """
    genotypes = np.asarray(again.genotype)
    if not np.array_equal(again.parent, facts["offspring"]["parent"]):
        return "other"
    if np.array_equal(digest(genotypes), facts["digest"]):
        return "exact"
    width = np.asarray(space.high - space.low)
    far = np.abs(genotypes[facts["stored"]] - facts["offspring.genotype"]) > ROUNDING * width
    distance = np.abs(fingerprint(genotypes, space) - facts["fingerprint"])
    return "other" if far.any() or (distance > SPREAD * len(width) ** 0.5).any() else "rounded"
