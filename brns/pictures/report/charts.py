"""Figures in a page: curves as charts that tell their values, all else as pictures."""

import base64
import html
import io

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}
CLEAR = "rgba(0, 0, 0, 0)"
GRID = "rgba(128, 128, 128, 0.25)"
AXIS = {"gridcolor": GRID, "linecolor": GRID, "zeroline": False, "automargin": True}
TEMPLATE = go.layout.Template(
    layout={
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": "inherit", "size": 12},
        "hoverlabel": {"namelength": -1},
        "xaxis": AXIS,
        "yaxis": AXIS,
    }
)
"""what all charts have; the page says the colour of their texts"""


def chart(figure: go.Figure, name: str) -> str:
    """A figure of plotly as an element of a page that has plotly's script."""
    config = {"displayModeBar": False, "responsive": True}
    return figure.to_html(config, auto_play=False, include_plotlyjs=False, full_html=False, div_id=name)


def panel(ax: Axes) -> go.Figure:
    """Lines with their bands, as plotly draws them; a line without a name is a level over the whole width."""
    chart = go.Figure()
    for band in ax.collections:
        if isinstance(band, FillBetweenPolyCollection):
            chart.add_trace(_band(band))
    for line in ax.lines:
        x, y = np.asarray(line.get_xydata()).T
        name = str(line.get_label())
        if name.startswith("_"):
            chart.add_hline(y[0], line={"color": "gray", "width": 1, "dash": "dot"})
        else:
            style = {"color": to_hex(line.get_color()), "dash": DASHES[str(line.get_linestyle())], "width": 2}
            chart.add_scatter(x=x, y=y, mode="lines", name=text(name), line=style)
    chart.update_layout(
        template=TEMPLATE,
        title={"text": text(ax.get_title(loc="left")), "font": {"size": 13}},
        height=370,
        margin={"l": 70, "r": 12, "t": 40, "b": 70},
        hovermode="x unified",
        legend={"orientation": "h", "y": -0.25},
    )
    logarithmic = ax.get_yscale() == "log"
    shares = isinstance(ax.yaxis.get_major_formatter(), PercentFormatter)
    chart.update_xaxes(title_text=text(ax.get_xlabel()), range=ax.get_xlim())
    chart.update_yaxes(
        title_text=text(ax.get_ylabel()),
        type="log" if logarithmic else "linear",
        range=np.log10(ax.get_ylim()) if logarithmic else ax.get_ylim(),
        tickformat=".0%" if shares else None,
        hoverformat=".2%" if shares else ".4~g",
    )
    return chart


def _band(band: FillBetweenPolyCollection) -> go.Scatter:
    gap = [[np.nan, np.nan]]
    x, y = np.concatenate([part for path in band.get_paths() for part in (np.asarray(path.vertices), gap)]).T
    color = to_hex(np.asarray(band.get_facecolor())[0], keep_alpha=True)
    return go.Scatter(x=x, y=y, mode="none", fill="toself", fillcolor=color, hoverinfo="skip", showlegend=False)


def text(plain: str) -> str:
    """Text as plotly reads it: nothing in it is markup."""
    return html.escape(plain).replace("\n", "<br>")


def picture(figure: Figure) -> str:
    """A figure as the source of an image."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", dpi=110)
    return f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}"
