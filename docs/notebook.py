"""A script of cells as an executed notebook: `python docs/notebook.py SCRIPT OUT.ipynb`,
and a page when Sphinx builds.

`# %% [markdown]` begins a cell of text, `# %%` one of code. Cells run one after another in a folder
of their own. What a cell prints, and what its last line is (a picture, HTML, or text), stand below
it in the notebook and on the page. A cell that raises ends the build.
"""

import ast
import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def cells(script: str) -> list[tuple[str, str]]:
    """The kind and the text of each cell."""
    found = []
    for part in f"\n{script}".split("\n# %%")[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
        found.append(("markdown" if "[markdown]" in head else "code", body.strip("\n")))
    return found


def executed(script: str) -> dict[str, Any]:
    """The notebook of a script, executed here and now, as nbformat 4 describes it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    made, count = [], 0
    for number, (kind, text) in enumerate(cells(script)):
        cell: dict[str, Any] = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": text,
        }
        if kind == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": _run(text, names, count)}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _run(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree, printed, value = ast.parse(code), io.StringIO(), None
    last = (
        tree.body.pop()
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.endswith(";")
        else None
    )
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        shown = {
            "output_type": "execute_result",
            "execution_count": count,
            "metadata": {},
            "data": _data(value),
        }
        outputs.append(shown)
    return outputs


def _data(value: Any) -> dict[str, str]:
    """What a notebook asks of a value that it shows."""
    if hasattr(value, "_repr_png_"):
        return {"image/png": base64.b64encode(value._repr_png_()).decode()}
    text = {"text/plain": repr(value)}
    return {"text/html": value._repr_html_(), **text} if hasattr(value, "_repr_html_") else text


def page(notebook: dict[str, Any], name: str, pictures: Path) -> str:
    """The notebook as a page in Markdown, and its pictures as files in a folder beside the page."""
    pictures.mkdir(parents=True, exist_ok=True)
    lines = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            lines.append(cell["source"])
            continue
        lines.append(f"```python\n{cell['source']}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                picture = pictures / f"{name}-{cell['execution_count']}.png"
                picture.write_bytes(base64.b64decode(data["image/png"]))
                lines.append(
                    f"![What cell {cell['execution_count']} shows]({pictures.name}/{picture.name})"
                )
            elif "text/html" in data:
                lines.append(f"```{{raw}} html\n{data['text/html']}\n```")
            else:
                lines.append(f"```text\n{data['text/plain'].rstrip()}\n```")
    return "\n\n".join(lines) + "\n"


def _write(app) -> None:
    """Execute the tutorial in a process of its own, unless nothing was changed since,
    and write its page.
    """
    source = Path(app.srcdir)
    script, notebook = source / "tutorial.py", source / "executed" / "tutorial.ipynb"
    code = [script, *(source.parent / "brns").rglob("*.py")]
    if not notebook.exists() or notebook.stat().st_mtime < max(
        file.stat().st_mtime for file in code
    ):
        subprocess.run([sys.executable, __file__, script, notebook], check=True)
    text = page(json.loads(notebook.read_text()), "tutorial", notebook.parent)
    target = source / "tutorial.md"
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def setup(app):
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}


def main(script: Path, out: Path) -> None:
    text, out = script.read_text(), out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        notebook = executed(text)
        os.chdir(out.parent)
    out.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
