"""What a notebook shows of records: their state, some numbers and a small picture."""

import html
from collections.abc import Sequence

from brns.formatting import format_number
from brns.metrics.measures import MEASURES, summarize_run
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
    rows = [summarize_run(each, without=MEASURES.keys() - {*SHOWN}) for each in records[:LISTED]]
    there = set().union(*rows)
    measures = [name for name in SHOWN if name in there]
    pictured = len(records) <= PICTURES
    titles = [MEASURES[name].title for name in measures]
    lines = [_make_row("th", ["run", "seed", "generations", *titles], "" if pictured else None)]
    for record, row in zip(records, rows, strict=False):
        last, planned = record.last_generation, record.planned_generations
        words = [f"{record.metadata.task}, {label_method(record)}", f"{record.seed}"]
        words.append(f"{last} of {planned}" if last < planned else f"{last}")
        words += [format_number(row.get(name)) for name in measures]
        lines.append(_make_row("td", words, _render_behaviors_html(record) if pictured else None))
    more = len(records) - LISTED
    return f"<table>{''.join(lines)}</table>" + (f"<p>and {more} more</p>" if more > 0 else "")


def _make_row(tag: str, words: Sequence[str], picture: str | None) -> str:
    """A row of the table, which begins with a picture, if there is one."""
    cells = [] if picture is None else [picture]
    cells += map(html.escape, words)
    inner = "".join(f"<{tag}>{cell}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"


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
