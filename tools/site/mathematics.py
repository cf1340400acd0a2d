"""A Sphinx extension that renders equations with KaTeX while the site is built, so that pages need no script for them.

One process of Node renders all equations of a process of Sphinx: `mathematics.js` reads one request a line and answers
with one line.
"""

import atexit
import functools
import json
import os
import pathlib
import subprocess

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)


@functools.cache
def renderer(katex, owner):
    """Returns the process that renders for the process with the number `owner`, and ends with it."""
    script = pathlib.Path(__file__).with_suffix(".js")
    process = subprocess.Popen(["node", script, katex], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)  # It ends when its input does.
    return process


@functools.cache
def rendered(katex, tex, is_block):
    """Returns `html, error` of an equation, one of which is `None`."""
    process = renderer(katex, os.getpid())
    process.stdin.write(json.dumps({"tex": tex, "displayMode": is_block}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    return answer.get("html"), answer.get("error")


def visit(translator, node):
    is_block = isinstance(node, nodes.math_block)
    html, error = rendered(translator.config.katex, node.astext(), is_block)
    if error:
        logger.warning("KaTeX: %s", error, location=node)
    tag = "div" if is_block else "span"
    translator.body.append(f'<{tag} class="math">{html}</{tag}>')
    raise nodes.SkipNode


def setup(app):
    app.add_config_value("katex", "", "html", description="Path of katex.min.js")
    app.add_html_math_renderer("katex", inline_renderers=(visit, None), block_renderers=(visit, None))
    app.add_css_file("katex/katex.min.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
