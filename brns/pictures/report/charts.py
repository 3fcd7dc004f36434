"""Figures in a page: curves as charts that tell their values, all else as pictures."""

import base64
import html
import io
from typing import Any

import matplotlib
import numpy as np
import plotly.io
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from PIL import Image

DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}
GRID = "rgba(128, 128, 128, 0.25)"
AXIS: dict[str, Any] = {"gridcolor": GRID, "linecolor": GRID, "zeroline": False, "automargin": True}
LAYOUT: dict[str, Any] = {
    "paper_bgcolor": "rgba(0, 0, 0, 0)",
    "plot_bgcolor": "rgba(0, 0, 0, 0)",
    "font": {"family": "inherit", "size": 12},
    "hoverlabel": {"namelength": -1},
}
"""what all charts have; the page says the colour of their texts"""


def chart(figure: dict[str, Any], name: str) -> str:
    """A figure of plotly as an element of a page that has plotly's script."""
    config = {"displayModeBar": False, "responsive": True}
    return plotly.io.to_html(
        figure, config, auto_play=False, include_plotlyjs=False, full_html=False, validate=False, div_id=name
    )


def curves(figure: Figure, name: str) -> list[str]:
    """A chart for each panel of lines, with their bands."""
    panels = [ax for ax in figure.axes if _named(ax)]
    return [chart(panel(ax), f"{name}-{place}") for place, ax in enumerate(panels)]


def panel(ax: Axes) -> dict[str, Any]:
    """Its lines, with their bands, as plotly draws them."""
    bands = [_band(band) for band in ax.collections if isinstance(band, FillBetweenPolyCollection)]
    named = _named(ax)
    layout = {
        **LAYOUT,
        "title": {"text": _text(ax.get_title(loc="left")), "font": {"size": 13}},
        "height": 370,
        "margin": {"l": 70, "r": 12, "t": 40, "b": 70},
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": -0.25},
        "xaxis": {**AXIS, "title": {"text": _text(ax.get_xlabel())}, "range": ax.get_xlim()},
        "yaxis": _height(ax),
        "shapes": [_level(line) for line in ax.lines if line not in named],
    }
    return {"data": bands + [_line(line) for line in named], "layout": layout}


def _named(ax: Axes) -> list[Line2D]:
    return [line for line in ax.lines if not str(line.get_label()).startswith("_")]


def _height(ax: Axes) -> dict[str, Any]:
    axis = {**AXIS, "title": {"text": _text(ax.get_ylabel())}, "range": ax.get_ylim()}
    if ax.get_yscale() == "log":
        axis |= {"type": "log", "range": np.log10(ax.get_ylim())}
    if isinstance(ax.yaxis.get_major_formatter(), PercentFormatter):
        axis["tickformat"] = ".0%"
    return axis


def _line(line: Line2D) -> dict[str, Any]:
    x, y = np.asarray(line.get_xydata()).T
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _text(str(line.get_label())),
        "x": x,
        "y": [float(f"{value:.4g}") for value in y],
        "line": {"color": to_hex(line.get_color()), "dash": DASHES[str(line.get_linestyle())], "width": 2},
    }


def _band(band: FillBetweenPolyCollection) -> dict[str, Any]:
    gap = [[np.nan, np.nan]]
    x, y = np.concatenate([part for path in band.get_paths() for part in (np.asarray(path.vertices), gap)]).T
    red, green, blue = (round(255 * part) for part in np.asarray(band.get_facecolor())[0, :3])
    return {
        "type": "scatter",
        "mode": "none",
        "x": x,
        "y": y,
        "fill": "toself",
        "fillcolor": f"rgba({red}, {green}, {blue}, 0.18)",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _level(line: Line2D) -> dict[str, Any]:
    """A horizontal line over the whole width."""
    y = np.asarray(line.get_ydata())[0]
    style = {"color": "gray", "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": style}


def _text(text: str) -> str:
    """Text as plotly reads it: nothing in it is markup."""
    return html.escape(text).replace("\n", "<br>")


def picture(figure: Figure) -> str:
    """A figure as the source of an image."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "brns"}):
        figure.savefig(buffer, format="svg", dpi=110, metadata={"Date": None})
    return _source("svg+xml", buffer)


def pixels(image: np.ndarray) -> str:
    """Pixels, `(height, width, 4)`, as the source of an image; the first row is the top."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", optimize=True)
    return _source("png", buffer)


def _source(kind: str, content: io.BytesIO) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"
