r"""Q(i, j) and R(i, j) of a run: how novel the population of generation i is by the novelty of generation j.

Q is the paper's (section 4): $Q(i, j) = \frac{1}{\mu} \sum_{x \in P_i} \Omega^j(x)$ for $j \ge i$, in the estimator's
unit. R has none: it is the rank of $P_i$ among m fixed probes U, drawn uniformly from the behavior space,

$R(i, j) = \frac{1}{\mu m} \sum_{x \in P_i} \sum_{u \in U}
(\mathbb{I}[\Omega^j(u) < \Omega^j(x)] + \tfrac12 \mathbb{I}[\Omega^j(u) = \Omega^j(x)])$

the share of the space that is less novel than $P_i$; no increasing transformation of novelty changes it. Where all
points of the box are far from what can be reached, it says nothing.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from brns.core import Population
from brns.metrics.numbers import ranges
from brns.metrics.recorded import NoveltySearch, Record, survivors

PROBES = 256
"""uniform points that stand for the behavior space: R's error is below 1 / (2 sqrt(256)) = 0.03"""
BLOCK = 512
"""individuals that are scored at once: enough to fill the processor, few enough to waste little of the last block"""


def matrices(
    record: Record, generations: list[int], search: NoveltySearch
) -> tuple[Float[np.ndarray, "g g"], Float[np.ndarray, "g g"]]:
    """Q(i, j) and R(i, j) for j >= i, and NaN elsewhere, over generations whose states were kept.

    One state is in memory at a time. Each state scores the probes, then once every individual that survived until then.
    """
    points = survivors(record, "descriptor", generations)
    g, mu, d = points.shape
    _, first, row = np.unique(survivors(record, "id", generations), return_index=True, return_inverse=True)
    probes = np.asarray(search.task.behavior_space.uniform(jax.random.key(0), PROBES))
    row, everyone = row.reshape(g, mu) + PROBES, np.concatenate([probes, points.reshape(g * mu, d)[first]])
    known = np.maximum.accumulate(row.max(axis=1)) + 1
    blocks = jnp.asarray(np.pad(everyone, ((0, -len(everyone) % BLOCK), (0, 0))).reshape(-1, BLOCK, d))
    q, r = np.full((2, g, g), np.nan)
    for j, number in enumerate(generations):
        state, used = record.state(number, search), jnp.int32(-(-known[j] // BLOCK))
        novelty = np.asarray(_novelty(search.estimator, state.estimator, state.population, blocks, used), np.float64)
        q[: j + 1, j] = novelty[row[: j + 1]].mean(axis=1)
        r[: j + 1, j] = ranks(novelty, novelty[:PROBES])[row[: j + 1]].mean(axis=1)
    return q, r


@eqx.filter_jit
def _novelty(
    estimator: Any, state: PyTree, population: Population, blocks: Float[Array, "b n d"], used: Int[Array, ""]
) -> Float[Array, " b*n"]:
    """Omega^j of the individuals of the first `used` blocks, an array so as to compile once, and NaN of the others."""

    def score(b, novelty):
        return novelty.at[b].set(estimator.score(state, blocks[b], population))

    return jax.lax.fori_loop(0, used, score, jnp.full(blocks.shape[:2], jnp.nan, jnp.float32)).ravel()


def ranks(novelty: Float[Array | np.ndarray, " n"], probes: Float[Array | np.ndarray, " m"]) -> Float[np.ndarray, " n"]:
    """The share of probes that are less novel than each individual, equals counted half."""
    known = np.sort(np.asarray(probes))
    return (np.searchsorted(known, novelty, "left") + np.searchsorted(known, novelty, "right")) / (2 * len(known))


def kept(record: Record, generations: Sequence[int] | None) -> list[int]:
    """The generations asked for; a `ValueError` where the record does not keep their states."""
    kept = record.snapshots
    wanted = kept if generations is None else list(generations)
    if len(wanted) < 2 or wanted != sorted(set(wanted) & set(kept)):
        raise ValueError(
            f"Q(i, j), eta and kappa need the states of 2 or more generations, in order; got {ranges(wanted)}, and "
            f"{record.path} keeps {ranges(kept)}. Run it again with checkpoint_every=1 (--checkpoint-every 1)"
        )
    return wanted
