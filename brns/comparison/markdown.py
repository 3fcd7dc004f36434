"""What pages of results have in common: tables, where numbers come from,
and a refusal to replace another page.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brns.runs import provenance


def check_page(page: Path, heading: str) -> None:
    """Check that a page may be written over.

    Args:
        page: its file.
        heading: with which ours begin.

    Raises:
        ValueError: where there is a page that begins otherwise: it is another's.
    """
    if page.exists() and not page.read_bytes().startswith(heading.encode()):
        raise ValueError(
            f"{page} is not a page of ours, and would be written over: take another folder (--out)"
        )


def table(lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown.

    Args:
        lines: of cells; the first is the head.
    """
    head, *rows = lines
    written = []
    for line in (head, ["---"] * len(head), *rows):
        cells = [cell.replace("|", "\\|") for cell in line]
        written.append(f"| {' | '.join(cells)} |")
    return "\n".join(written)


def provenance_text(results: Mapping[str, Any]) -> str:
    """Where a table's numbers come from: what made the runs, if anything did, and what measured
    them.

    Args:
        results: with `provenance` and `scale`, and with `made` where other processes made the runs.

    Returns:
        In Markdown.
    """
    measured = provenance.text(results["provenance"])
    lead = f"Command: `{results['provenance']['command']}`."
    if "made" not in results:  # one process made and measured
        return f"{lead} {measured} {results['scale']}"
    several = len(results["made"]) > 1
    lines = [f"{lead} {results['scale']}", ""]
    for answer in results["made"]:
        whose = f"{'; '.join(answer['rows'])}: " if several else ""
        lines.append(f"- Runs: {whose}{provenance.text(answer)}")
    return "\n".join([*lines, f"- Measured: {measured}"])
