"""What is measured of a run: its numbers, and its curves over generations."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from brns.core import Box, Generation, NoveltyEstimator, Population
from brns.estimators.exact import ExactRecognition
from brns.estimators.recognition import BehaviorRecognition
from brns.metrics import coverage, cycling, dynamics, paths, uniformity
from brns.metrics.measures import summarize_run
from brns.metrics.recorded import read_valid_rows_by_generation
from brns.pictures.records import distance_to_uniform_of_archive_or_novelty, find_scene, has_paths
from brns.runs.record import Record

COVERAGE_AT = (10, 25, 50, 100, 200, 400)
"""generations"""
Curve = tuple[Sequence[int], np.ndarray]
"""generations and the value at each"""


def summarize_run_for_claims(record: Record) -> dict[str, float]:
    """The summary of a run, and what the claims need beyond it.

    `eta_root` and `kappa_root` are eta and the share kappa by the root of BR-NS's novelty, as in
    the published code's analysis: a distance, like kappa's margin.
    """
    of_paths = has_paths(record)
    row = summarize_run(record, of_paths=of_paths)
    if isinstance(record.search.estimator, BehaviorRecognition | ExactRecognition):
        rooted = eqx.tree_at(lambda s: s.estimator, record.search, Rooted(record.search.estimator))
        rooted_cycles = cycling.cycling_of_record(record, search=rooted)
        row["eta_root"] = float(rooted_cycles.eta.mean())
        row["kappa_root"] = float(rooted_cycles.kappa_share.mean())
    return row | (_summarize_paths(record) if of_paths else _summarize_plane(record))


def _summarize_paths(record: Record) -> dict[str, float]:
    behaviors = np.concatenate(read_valid_rows_by_generation(record, "descriptor"))
    signed = paths.compute_path_signatures(behaviors)
    space = paths.make_signature_space(record.behavior_space)
    deviations = zip(paths.TERMS, paths.signature_spread_by_term_of_record(record), strict=True)
    return {
        "uniformity_visits": uniformity.distance_to_uniform_of_points(signed, space, paths.GRID),
        "reach": float(compute_furthest_distances(record)[-1]),
        "areas": float(count_most_areas(record)[-1]),
        **{f"deviation_{term}": float(value) for term, value in deviations},
    }


def _summarize_plane(record: Record) -> dict[str, float]:
    row = {}
    for individuals in ("evaluated", "survivors"):
        shares = coverage.coverage_of_record(record, individuals=individuals)
        for g in COVERAGE_AT:
            if g < len(shares):
                row[f"coverage_{individuals}_at_{g}"] = float(shares[g])
        if shares[-1] == 1:
            row[f"full_coverage_{individuals}"] = float(np.argmax(shares == 1))
    uniform = distance_to_uniform_of_archive_or_novelty(record)
    finite = uniform[np.isfinite(uniform)]
    return row | {"uniformity_first": float(finite[0]), "uniformity_last": float(finite[-1])}


class Rooted(eqx.Module):
    """The root of an estimator's novelty: a distance where that is a squared one."""

    squared: NoveltyEstimator

    def init(self, space: Box, key: Key[Array, ""]) -> PyTree:
        return self.squared.init(space, key)

    def score(
        self, state: PyTree, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        return jnp.sqrt(self.squared.score(state, descriptors, population))

    def update(self, state: PyTree, generation: Generation, key: Key[Array, ""]) -> PyTree:
        return self.squared.update(state, generation, key)

    def embed(self, state: PyTree, descriptors: Float[Array, "n d"]) -> Float[Array, "n e"]:
        return self.squared.embed(state, descriptors)  # ty: ignore[missing-attribute]


def compute_furthest_distances(record: Record) -> np.ndarray:
    """The furthest distance from the start of any path until each generation, in metres."""
    start = np.asarray(find_scene(record).start)
    furthest = []
    for rows in read_valid_rows_by_generation(record, "descriptor"):
        furthest.append(np.linalg.norm(rows.reshape(-1, 2) - start, axis=1).max())
    return np.maximum.accumulate(furthest)


def count_most_areas(record: Record) -> np.ndarray:
    """The most areas that one ant evaluated until each generation has visited."""
    most = [rows.max() for rows in read_valid_rows_by_generation(record, "fitness")]
    return np.maximum.accumulate(most)


def compute_curves(record: Record) -> dict[str, Curve]:
    """Every statistic over generations, by its name."""
    every, kept = record.generations, record.generations_with_states
    cycles = cycling.cycling_of_record(record)
    shared = {
        "parent_distance": (every, dynamics.survivors_parent_distance_of_record(record)),
        "age": (every, dynamics.survivors_age_of_record(record)),
        "eta": (kept[:-1], cycles.eta),
        "kappa": (kept[:-1], cycles.kappa),
        "kappa_share": (kept[:-1], cycles.kappa_share),
    }
    if has_paths(record):
        uniform = paths.signature_novelty_distance_to_uniform_of_record(record)
        return shared | {
            "coverage_signatures": (every, paths.signature_coverage_of_record(record)),
            "uniformity_signatures": (every, uniform),
            "reach": (every, compute_furthest_distances(record)),
            "areas": (every, count_most_areas(record)),
        }
    return shared | {
        "coverage_survivors": (every, coverage.coverage_of_record(record)),
        "coverage_evaluated": (every, coverage.coverage_of_record(record, individuals="evaluated")),
        "uniformity": (kept, distance_to_uniform_of_archive_or_novelty(record)),
    }
