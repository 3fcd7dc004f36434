"""The gallery's page, made of the tables of figures and of parts
when the documentation is built.
"""

from pathlib import Path

from brns.pictures import FIGURES
from brns.settings.parts import parts

DOCS = Path(__file__).parent
PLACES = {
    "signature": "ant/signature",
    "cost": "timing/by-dimension",
    "elites": "arm/elites",
    "qd-score": "arm/qd-score",
}
"""pictures of figures that are drawn of something else than the maze"""


def picture(name: str) -> str:
    """Where the reproduction's picture of a figure is, from the documentation's folder."""
    return f"../results/{PLACES.get(name, f'maze/{name}')}.png"


def page() -> str:
    """The gallery as Markdown: every figure of the table and every task of the parts."""
    lines = [
        "# Gallery",
        "## Figures",
        "`brns figure NAME RUNS` draws them, `draw(NAME, records)` in Python. The pictures are "
        "those of the [reproduction](reproduction.md), which says how many seeds they are "
        "of; those of fitness are of `brns run arm --generations 200`.",
    ]
    for name, figure in FIGURES.items():
        number = f" (figure {', '.join(figure.paper)} of the paper)" if figure.paper else ""
        lines += [f"### {figure.title}", f"`brns figure {name} RUNS`{number}. {figure.caption}"]
        lines += _image(figure.title, picture(name))
    lines += [
        "## Tasks",
        "`brns run NAME` searches them; [their settings](worlds.rst). The pictures are `brns "
        "figure behaviors` of a search by the library's defaults for 200 generations; those of "
        "maze and ant are the reproduction's.",
    ]
    for name, part in parts("task").items():
        lines += [
            f"### {name}",
            f"{{py:class}}`brns.{part.attribute}`: {part.meaning}. `brns run {name}`",
        ]
        lines += _image(part.meaning, f"tasks/{name}.png") or _image(
            part.meaning, f"../results/{name}/behaviors.png"
        )
    return "\n\n".join(lines) + "\n"


def _image(text: str, path: str) -> list[str]:
    """A picture, if there is one: a figure or a task that was just written has none."""
    return [f"![{text}]({path})"] if (DOCS / path).exists() else []


def setup(app):
    """Write the page when the documentation is built."""
    target = Path(app.srcdir) / "gallery.md"
    if not target.exists() or target.read_text() != page():
        target.write_text(page())
    return {"parallel_read_safe": True}
