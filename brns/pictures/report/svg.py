"""A figure as an element of a page."""

import html
import io
import re
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from brns.pictures.style import INK, STYLE


def curves(figure: Figure) -> list[dict[str, Any]]:
    """Where the lines of a drawn figure are, by panel, and their values, for the script that tells them.

    Places are in points from the picture's upper left corner, as in the view box of its SVG.
    """
    width, height = 72 * figure.get_size_inches()
    panels = []
    for ax in figure.axes:
        lines = [_line(line) for line in ax.lines if not str(line.get_label()).startswith("_")]
        box = ax.get_position()
        if lines:
            place = [box.x0 * width, (1 - box.y1) * height, box.x1 * width, (1 - box.y0) * height]
            panels.append({"box": place, "limits": ax.get_xlim(), "axis": ax.get_xlabel(), "lines": lines})
    return panels


def _line(line: Line2D) -> dict[str, Any]:
    places = np.asarray(line.get_xydata())
    x, y = places[np.isfinite(places).all(axis=1)].T
    return {
        "label": str(line.get_label()),
        "color": to_hex(line.get_color()),
        "x": x.tolist(),
        "y": [float(f"{value:.4g}") for value in y],
    }


def svg(figure: Figure, name: str, title: str) -> str:
    """A figure as an element of the page, whose ink is the page's, light or dark."""
    buffer = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", dpi=110, facecolor="none", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    used = set(re.findall(r"#([\w.-]+)[\")]", text))  # The others would repeat from figure to figure.
    text = re.sub(r' id="([^"]+)"', lambda named: named[0] if named[1] in used else "", text)
    head, body = text.split(">", 1)
    box = head[head.index("viewBox") :].split('"')[1]
    links = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'<svg {links} viewBox="{box}" role="img" aria-label="{html.escape(title)}">{body}'
