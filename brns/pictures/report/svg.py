"""A figure as an element of a page."""

import html
import io
import re

import matplotlib
from matplotlib.figure import Figure

from brns.pictures.style import INK, STYLE


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
