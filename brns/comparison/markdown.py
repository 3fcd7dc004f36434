"""What pages of results have in common: tables, and where numbers come from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brns.runs import provenance


def check_safe_to_overwrite(page: Path, heading: str) -> None:
    """A `ValueError` where a page would be written over that does not begin with our heading."""
    if page.exists() and not page.read_bytes().startswith(heading.encode()):
        raise ValueError(f"{page} is not a page of ours: take another folder (--out)")


def format_table(lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first line is the head."""
    head, *rows = lines
    written = []
    for line in (head, ["---"] * len(head), *rows):
        cells = [cell.replace("|", "\\|") for cell in line]
        written.append(f"| {' | '.join(cells)} |")
    return "\n".join(written)


def format_command_and_provenance(
    scale: str, made: Sequence[Mapping[str, Any]] = (), measured: Mapping[str, Any] | None = None
) -> str:
    """Which processes `made` a page's runs, if others did, and which `measured` them."""
    measured = measured or provenance.collect_provenance()
    command, text = f"Command: `{measured['command']}`.", provenance.format_provenance(measured)
    if not made:
        return f"{command} {text} {scale}"
    lines = [f"{command} {scale}", ""]
    for answer in made:
        whose = f"{'; '.join(answer['rows'])}: " if len(made) > 1 else ""
        lines.append(f"- Runs: {whose}{provenance.format_provenance(answer)}")
    return "\n".join([*lines, f"- Measured: {text}"])
