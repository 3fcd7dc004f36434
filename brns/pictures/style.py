"""How the figures look: type, colours, legends and files."""

import base64
import contextlib
import io
import math
import os
import textwrap
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from cycler import cycler
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib import style as styles
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import FuncNorm, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import NullFormatter
from PIL import Image

from brns.formatting import format_number
from brns.runs.files import write_bytes
from brns.settings.parts import LOOKS, Look

INK = "#1f2430"
WALL = "#7b8190"
FLOOR = "#f5f6f8"
SOLVED = "#e6007e"
START = "#111111"  # no area has it
IN_FILES: Any = {
    "pdf.fonttype": 42,  # publishers refuse type 3
    "ps.fonttype": 42,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "brns",  # the same figure, the same bytes
}
STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=[look.color for look in LOOKS.values()]),
    "axes.facecolor": "none",
    "figure.facecolor": "white",
    "text.parse_math": False,  # a setting's text in a label is text
    "legend.frameon": False,
    "figure.dpi": 110.0,
    "savefig.dpi": 110.0,
    **IN_FILES,
    **dict.fromkeys(
        ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK
    ),
}
PANEL = 5.4
"""inches of a panel on the screen"""
LONGEST = 60
"""letters of a line in a legend"""
WIDTHS = {"column": 3.5, "page": 7.2}
"""inches of one and of two columns in Nature and PNAS; ACM's and IEEE's are 0.2 narrower"""
IN_PRINT: Any = {
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.dpi": 300.0,
}
"""type of seven points is the least that journals take"""
Width = Literal["column", "page"]
TIME = LinearSegmentedColormap.from_list("time", colormaps["YlGnBu"](np.linspace(0.3, 1, 256)))
"""colours of generations: light is early; those of novelty are others"""
NOVELTY = "viridis"


@contextlib.contextmanager
def use_figure_style(width: Width | None = None) -> Generator[None, None, None]:
    """Within the block matplotlib draws in our style, for print in smaller type and lines."""
    interactive = matplotlib.is_interactive()
    try:
        with styles.context(["default", STYLE | (IN_PRINT if width else {})]):
            yield
            # A notebook's first figure turns matplotlib interactive, which is to outlive the block.
            interactive = matplotlib.is_interactive()
    finally:
        matplotlib.interactive(interactive)


class StyledFigure(Figure):
    """A figure that a notebook shows once in its cell, with or without a magic line."""

    __module__ = Figure.__module__  # by this Weights & Biases recognizes figures

    def __reduce__(self) -> tuple:
        """Pickles hold a plain figure, which matplotlib alone can read."""
        return Figure.__new__, (Figure,), self.__getstate__()

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save it in our style; the type of fonts is asked for when a file is written."""
        options.setdefault("dpi", self.dpi)
        with use_figure_style():
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        return encode_png(self)

    def _ipython_display_(self) -> None:
        """Show it now, and not a second time when the cell ends."""
        from IPython.display import Image, display  # ty: ignore[import-not-found]
        from matplotlib import pyplot

        pyplot.close(self)
        display(Image(self._repr_png_(), format="png"))


def make_figure(width: float, height: float) -> Figure:
    """A figure of so many inches, which a notebook with inline figures shows in its cell."""
    # Maps keep their shape, so that their layout is a little off.
    layout = ConstrainedLayoutEngine(w_pad=0.1)
    size: Any = {"figsize": (width, height), "layout": layout}
    if "inline" not in os.environ.get("MPLBACKEND", ""):
        return StyledFigure(**size)
    from matplotlib import pyplot

    return pyplot.figure(FigureClass=StyledFigure, **size)


def measure_panel_inches(ax: Axes) -> tuple[float, float]:
    """A panel's share of its figure, in inches: its width and height."""
    figure: Any = ax.figure
    place: Any = ax.get_subplotspec()
    rows, columns = place.get_gridspec().get_geometry() if place else (1, 1)
    width, height = figure.bbox.size / figure.dpi  # a subfigure has these, too
    return width / columns, height / rows


def compute_size_factor(ax: Axes) -> float:
    """By how much points and lines are smaller in a small panel: 1 in those of the screen."""
    width, _ = measure_panel_inches(ax)
    return float(np.clip(width / PANEL, 0.3, 1.0))


def make_rank_norm(novelty: Float[np.ndarray, " n"]) -> Normalize:
    """A scale on which a novelty stands at the share of these that lie below it."""
    values, times = np.unique(novelty.astype(np.float64), return_counts=True)
    if len(values) < 2:
        return Normalize(values[0], values[0] + 1)
    ranks = (np.cumsum(times) - times / 2) / len(novelty)
    to_rank = partial(np.interp, xp=values, fp=ranks)
    to_value = partial(np.interp, xp=ranks, fp=values)
    return FuncNorm((to_rank, to_value), values[0], values[-1])


def add_colorbar(ax: Axes, mappable: Any, label: str) -> Any:
    """A bar as high as its panel. A scale by rank tells the value of every quarter."""
    figure: Any = ax.figure
    place = ax.inset_axes((1.02, 0.0, 0.04, 1.0))
    bar = figure.colorbar(mappable, cax=place, label=wrap_texts_to_panel_height(ax, label))
    if isinstance(mappable.norm, FuncNorm):
        quarters = np.unique(mappable.norm.inverse(np.linspace(0, 1, 5)))
        bar.set_ticks(quarters, labels=[format_number(value) for value in quarters])
        bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1)
    return bar


def prepend_to_title(ax: Axes, text: str) -> None:
    """Put a text above a panel's title, in lines no longer than the panel is wide."""
    text = f"{text}\n{ax.get_title(loc='left')}".strip()
    points: Any = ax.title.get_fontsize()
    # without the axis' numbers and label, of about nine letters
    inches = measure_panel_inches(ax)[0] - 0.09 * points
    most = max(int(inches / (0.0085 * points)), 12)
    ax.set_title("\n".join(textwrap.fill(line, most) for line in text.split("\n")))


def encode_png(figure: Figure, **options: Any) -> bytes:
    """A figure as a PNG of at most 256 colours, a third as large as one of all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", **options)
    with Image.open(buffer) as picture:
        if picture.getchannel("A").getextrema() != (255, 255):  # something shines through
            return buffer.getvalue()
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        small = io.BytesIO()
        few.save(small, format="png", optimize=True, dpi=picture.info["dpi"])
    return small.getvalue()


def encode_image_data_url(content: bytes, kind: str = "png") -> str:
    """An image as the source of one in a page."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def save(figure: Figure, path: str | os.PathLike, **options: Any) -> None:
    """Write a figure to a file, whole or not at all.

    Text in .pdf and .svg files stays text: of type 42 in a PDF, as publishers ask for. A .png has
    at most 256 colours.

    Args:
        figure: any of matplotlib.
        path: its suffix says the format.
        **options: those of matplotlib's `savefig`, such as `dpi`.

    Raises:
        ValueError: where the path has no suffix.
    """
    path = Path(path)
    if not path.suffix:
        raise ValueError(f"a figure's file ends in .png, .pdf or .svg; got {path.name!r}")
    # The same figure, the same bytes: files do not tell when they were written.
    dated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    if path.suffix in dated:
        options = {"metadata": dated[path.suffix]} | options
    with matplotlib.rc_context(IN_FILES):  # a figure of another style keeps its own
        if path.suffix == ".png":
            content = encode_png(figure, **options)
        else:
            buffer = io.BytesIO()  # matplotlib hides the error of a disk that is full
            options.setdefault("format", path.suffix[1:])
            figure.savefig(buffer, **options)
            content = buffer.getvalue()
    write_bytes(path, content)


def use_plain_tick_labels(axis: Axis) -> None:
    """Label a logarithmic axis with numbers, not with the code of formulas."""
    axis.set_major_formatter("{x:.10g}")
    axis.set_minor_formatter(NullFormatter())


def add_legend_below(figure: Figure, columns: int = 4) -> None:
    """One legend for all axes, below them, in as many columns as the figure has room for."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    if entries:
        points = matplotlib.rcParams["font.size"]
        labels = [textwrap.fill(label, LONGEST) for label in entries]
        inches = 0.0078 * points * min(max(map(len, entries)), LONGEST) + 0.6  # with its handle
        columns = max(min(len(entries), columns, int(figure.get_figwidth() / inches)), 1)
        lines = math.ceil(len(entries) / columns)
        taller = 0.021 * points * max(lines - 2, 0)  # figures have room for two lines
        figure.set_figheight(figure.get_figheight() + taller)
        place = "outside lower center"
        figure.legend(entries.values(), labels, loc=place, ncols=columns, handlelength=3)


def wrap_texts_to_panel_height(ax: Axes, *texts: str) -> str:
    """Texts in lines of their own, about as long as the axes are high."""
    points = matplotlib.rcParams["font.size"]
    most = max(int(0.8 * measure_panel_inches(ax)[1] / (0.0082 * points)), 12)
    return "\n".join(textwrap.fill(text, most) for text in texts if text)


def make_line_style(look: Look, scale: float = 1.0) -> dict[str, Any]:
    """The look of a method as options of matplotlib's `plot`."""
    dashes: Any = (0, look.dashes) if look.dashes else "-"
    size = {"ms": max(4.0 * scale, 2.5), "lw": max(1.4 * scale, 0.8)}
    return {"color": look.color, "ls": dashes, "marker": look.marker, **size}
