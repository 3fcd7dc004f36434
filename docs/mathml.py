"""Mathematics as MathML, which browsers draw without script, image or network.
docutils translates the TeX.
"""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)


def translate(node, as_block):
    tex = node.astext().replace(r"\dots", r"\ldots")
    try:
        # The bars of a norm would grow one by one, each to the height of what stands beside it.
        return tex2mathml(tex, as_block).replace(">‖</mo>", ' stretchy="false">‖</mo>')
    except MathError as error:
        logger.warning("%s in %s", error, tex, location=node)
        return f"<code>{nodes.unescape(tex)}</code>"


def inline(self, node):
    self.body.append(f'<span class="math notranslate">{translate(node, as_block=False)}</span>')
    raise nodes.SkipNode


def display(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math notranslate"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(translate(node, as_block=True) + "</div>")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
