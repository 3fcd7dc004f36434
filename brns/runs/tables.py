"""A run as tables: a row a generation as a frame, and what it is as a few rows in a notebook."""

from typing import TYPE_CHECKING

from brns.display import table
from brns.metrics.coverage import cumulative_coverage
from brns.runs.columns import GRID, turnover

if TYPE_CHECKING:
    import pandas

    from brns.runs.record import Record


def frame(record: "Record") -> "pandas.DataFrame":
    """One row a generation; `Record.frame` says of what."""
    try:
        import pandas
    except ImportError:
        raise ImportError("Record.frame needs pandas: pip install 'brns[frame]'") from None
    rows, places = [], []
    for g in record.generations:
        c = record.facts_of(g)
        rows.append({"seed": record.seed, "generation": g, "evaluations": c["offspring.id"].size, **turnover(g, c)})
        places.append(c["offspring.descriptor"])
    made = pandas.DataFrame(rows)
    made["evaluations"], made["solutions"] = made["evaluations"].cumsum(), made["solved"].cumsum()
    if record.behavior_space.dimension == 2:
        made["coverage"] = cumulative_coverage(places, record.behavior_space, GRID)
    return made


def summed_up(record: "Record") -> str:
    """What a run is, as HTML."""
    experiment = record.experiment
    task = experiment["task"].get("task", experiment["task"])  # the world itself, where it was evaluated in chunks
    batch = f", of {len(record.seeds)}" if len(record.seeds) > 1 else ""
    return table(
        "Record",
        {
            "folder": record.path,
            "task": task["name"],
            "estimator": experiment["estimator"]["name"],
            "seed": f"{record.seed}{batch}",
            "generations": f"{finished(record)} of {record.planned}",
            "states kept": len(record.snapshots),
            "made with": f"brns {record.versions.get('brns', '?')}, jax {record.versions.get('jax', '?')}",
        },
    )


def finished(record: "Record") -> int:
    """How many generations came after the founders."""
    return max(len(record.generations) - 1, 0)
