"""The cells of a task whose behavior is not planar: placed once, among what all methods evaluate.

A file keeps them, so that seeds and methods that are added later have the same.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Float

from brns.comparison.batches import lock_folder
from brns.comparison.measure import collect_evaluated_behaviors, name_method_in_errors
from brns.comparison.peers import Peer
from brns.comparison.worlds import Tessellation, World
from brns.metrics.tessellation import SHARE, make_tessellation
from brns.progress import show_progress_of
from brns.runs.arrays import read_arrays, write_arrays
from brns.runs.files import RecordError
from brns.runs.provenance import read_sources
from brns.search import NoveltySearch
from brns.settings.edits import discard_compiled_if_edited, ignore_side_effects

Searches = Mapping[str, tuple[NoveltySearch, Peer | None]]
"""of methods by name, each with the peer in its place"""
LOG = logging.getLogger("brns")
UNCOUNTED = 2**31 - 1
"""the seed whose behaviors place the cells"""
FEW = 50
"""cells; of fewer, a word is said"""


def load_or_place_cells(
    world: World, searches: Searches, path: Path, progress: bool
) -> Tessellation:
    """The cells in a file, which is written first where there is none.

    A `RecordError` where the file is damaged, or was made by other generations or behaviors.
    """
    ((search, _), *_) = searches.values()
    space = search.task.behavior_space
    width = np.asarray(space.high - space.low)
    sizes = f"{world.population_size} + {world.offspring_size}"
    seal = f"{world.generations} generations of {sizes} with {len(width)} dimensions"
    with lock_folder(path.parent):
        if not path.exists():
            centres = _place_centres(world, searches, width, progress)
            write_arrays(path, {"centres": centres, "methods": list(searches)}, seal)
        elif not any(path.parent.glob("*.json")):
            LOG.warning(
                "The cells are those of another call, which left no results yet; if you changed "
                "the task or its box since then, remove %s",
                path,
            )
        try:
            stored = read_arrays(path, seal)
        except RecordError as error:
            raise RecordError(f"{error}: take another folder, or remove {path.parent}") from None
    centres = stored["centres"]
    if len(centres) < FEW:
        LOG.warning(
            "coverage of %s has only %d cells, since one in %d behaviors places them and few of "
            "these differ: take more generations, or finer behaviors",
            world.name,
            len(centres),
            SHARE,
        )
    names = "; ".join(stored["methods"])
    text = f"tessellation of what {names} evaluate with a seed that is not counted"
    return Tessellation(width, centres, text)


def _place_centres(
    world: World, searches: Searches, width: Float[np.ndarray, " d"], progress: bool
) -> Float[np.ndarray, "c d"]:
    """Centres among what all methods evaluate with a seed that is not counted, in widths of the
    box.
    """
    points = []
    pairs = show_progress_of(searches.items(), "evaluating, for cells", len(searches), progress)
    for name, (search, peer) in pairs:
        code = read_sources(search, peer)
        discard_compiled_if_edited(code)
        with name_method_in_errors(name, world):
            points.append(collect_evaluated_behaviors(search, world, UNCOUNTED, peer))
        ignore_side_effects(code.texts, read_sources(search, peer))
        jax.clear_caches()  # as after each method that is compared
    return make_tessellation(np.concatenate(points) / width, progress=progress).astype(np.float32)
