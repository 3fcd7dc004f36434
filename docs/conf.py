"""Sphinx: `make docs` builds the pages into docs/_build/html.
They open from disk and need no network.
"""

import re
import sys
import typing
from pathlib import Path

from sphinx.ext.napoleon import Config, GoogleDocstring

typing.GENERATING_DOCUMENTATION = "brns"  # jaxtyping then writes Float[Array, "n d"] as we do
sys.path.insert(0, str(Path(__file__).parent))

import brns  # noqa: E402

project = "brns"
author = "the brns authors"
version = release = brns.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "myst_parser",
    "notebook",
    "gallery",
]
html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"brns {release}"
html_static_path = ["style.css", "copy.js"]
html_css_files, html_js_files = ["style.css"], ["copy.js"]
html_show_sphinx = html_show_copyright = False
exclude_patterns = ["_build"]
default_role = "literal"  # docstrings write `code` and $mathematics$

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autosummary_generate = False  # tables that lead to what stands below them
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

# Every reference to something of brns must resolve; the types of other libraries need not.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!brns).*")]


def dollars(app, what, name, obj, options, lines):
    """Turn the $...$ of docstrings into Sphinx's mathematics, outside of `code`."""
    text = "\n".join(lines)
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [
        re.sub(r"\$([^$]+)\$", lambda m: ":math:`" + " ".join(m[1].split()) + "`", part)
        for part in parts[::2]
    ]
    lines[:] = "".join(parts).split("\n")


def plain(app, what, name, obj, options, lines):
    """Leave out what named tuples say of fields of which we say nothing."""
    lines[:] = [line for line in lines if not line.startswith("Alias for field number")]


def google(app, what, name, obj, options, lines):
    """Read Args, Returns and Raises. The strings under fields have none, and may have colons."""
    if what in ("function", "method", "class", "exception"):
        options = Config(napoleon_use_rtype=False)
        lines[:] = GoogleDocstring(lines, options, app, what, name, obj).lines()


def contract(app, what, name, obj, options, signature, returns):
    """A protocol is not called."""
    return ("", None) if getattr(obj, "_is_protocol", False) else None


def setup(app):
    app.connect("autodoc-process-docstring", plain)
    app.connect("autodoc-process-docstring", google)
    app.connect("autodoc-process-docstring", dollars)
    app.connect("autodoc-process-signature", contract)
