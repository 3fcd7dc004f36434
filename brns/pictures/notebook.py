"""What a notebook shows of records: their state, some numbers and a small picture."""

import html
from collections.abc import Sequence

from brns.formatting import format_number
from brns.metrics.coverage import choose_grid_shape_or_none
from brns.metrics.measures import MEASURES
from brns.pictures import gather_maps
from brns.pictures.paint_maps import paint_behaviors
from brns.pictures.records import label_method
from brns.pictures.style import StyledFigure, encode_image_data_url, encode_png, use_figure_style
from brns.runs.files import RecordError
from brns.runs.record import Record

SHOWN = ("coverage_survivors", "coverage_evaluated", "solutions", "first_solved")
"""measures that take no states and are quick"""
PICTURES = 12
"""of a list; more records have none, as each takes a tenth of a second"""
LISTED = 50
"""rows of a list"""


def format_records_table(records: Sequence[Record]) -> str:
    """Records as a table of HTML, a row for each of the first 50; of a few with pictures."""

    def has_any(name: str) -> bool:
        return any(_has_measure(record, name) for record in records)

    measures = [name for name in SHOWN if has_any(name)]
    pictured = len(records) <= PICTURES
    titles = [MEASURES[name].title for name in measures]
    lines = [_make_row("th", ["run", "seed", "generations", *titles], "" if pictured else None)]
    for record in records[:LISTED]:
        planned = (
            f" of {record.planned_generations}"
            if record.last_generation < record.planned_generations
            else ""
        )
        words = [f"{record.metadata.world}, {label_method(record)}", f"{record.seed}"]
        words.append(f"{record.last_generation}{planned}")
        for name in measures:
            value = MEASURES[name].function(record) if _has_measure(record, name) else None
            words.append(format_number(None if value is None else float(value)))
        lines.append(_make_row("td", words, _render_behaviors_html(record) if pictured else None))
    more = len(records) - LISTED
    return f"<table>{''.join(lines)}</table>" + (f"<p>and {more} more</p>" if more > 0 else "")


def _make_row(tag: str, words: Sequence[str], picture: str | None) -> str:
    """A row of the table, which begins with a picture, if there is one."""
    cells = [] if picture is None else [picture]
    cells += map(html.escape, words)
    inner = "".join(f"<{tag}>{cell}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"


def _has_measure(record: Record, name: str) -> bool:
    return (
        MEASURES[name].needs != "grid"
        or choose_grid_shape_or_none(record.behavior_space) is not None
    )


def _render_behaviors_html(record: Record) -> str:
    """Everything that a run evaluated, as an image."""
    with use_figure_style():
        figure = StyledFigure(figsize=(2.6, 2.3), layout="constrained")
        ax = figure.subplots()
        try:
            paint_behaviors(gather_maps.gather_behaviors(record), ax)
        except RecordError as error:  # damaged: what can be read stands beside it
            return html.escape(f"no picture: {error}")
        ax.set(title="", xlabel="", ylabel="")
        source = encode_image_data_url(encode_png(figure, dpi=90))
    words = "Every behavior that was evaluated, early ones light and late ones dark"
    return f'<img alt="{words}" src="{source}">'
