"""A live look at a run: does the search begin to visit old ground?"""

import numpy as np

from brns.metrics import cycling
from brns.metrics.recorded import Record

MOST = 20  # states, so that a look costs the same however long the run is


def watch(record: Record) -> tuple[str, bool]:
    r"""eta and kappa so far, as one line of text, and whether the search returns to old ground.

    It does when more than half of the earlier populations are as novel now, in generation g, as when they lived, after
    they were less so by more than kappa's margin: $Q(i, g) > Q(i, i^*) + \epsilon$ and $Q(i, g) \ge Q(i, i)$. Read from
    at most 20 of the states kept, spread evenly over the run; with fewer than 3 the answer is no.
    """
    kept = record.snapshots
    if len(kept) < 3:
        return f"cycling: too early to say, {len(kept)} of 3 states kept", False
    chosen = [kept[i] for i in np.unique(np.linspace(0, len(kept) - 1, MOST).round().astype(int))]
    found = cycling.of_record(record, chosen)
    q = found.q[:-1]
    now, born, least = q[:, -1], np.diag(q), np.nanmin(q, axis=1)
    share = float(np.mean((now > least + found.epsilon) & (now >= born)))
    text = (
        f"eta {found.eta.mean():.2f}, kappa {found.kappa_share.mean():.2f} per later generation; "
        f"{share:.0%} of earlier populations are as novel again as when they lived"
    )
    return text, share > 0.5
