"""The file `llms.txt` of the site: its pages with a sentence each, for programs that read them (https://llmstxt.org)."""

import re

from tools.site.pages import LINK, SECTIONS, TITLES

HEAD = """# keras_adaptive_rnn

> Recurrent cells and layers for Keras 3 beyond LSTM and GRU (Mogrifier, adaptive, low-rank, Skip, linear and more), on
> TensorFlow, JAX and PyTorch. A layer replaces `keras.layers.LSTM(256)`; files of one backend load on the others.

Import `keras_adaptive_rnn` before `keras.models.load_model`. Cells go into `keras_adaptive_rnn.RNN` or, slower,
`keras.layers.RNN`. Inputs are `[batch, time, features]`.
"""


def text(site):
    """Returns the file, from the pages that a `Site` has written."""
    parts = [HEAD]
    for caption, listed in SECTIONS.items():
        pages = [
            page
            for entry in listed
            for page in (site.in_order(entry, site.pages) if entry.endswith("/") else [entry])
            if page in site.pages
        ]
        lines = [line(page, (site.folder / f"{page}.md").read_text()) for page in pages]
        parts.append("\n".join([f"## {caption}", "", *lines, ""]))
    return "\n".join(parts)


def line(page, text):
    """Returns the entry of a page: its title, its address and its first sentence, if that is prose."""
    title = TITLES.get(page) or plain(re.search(r"^# (.+)$", text, re.MULTILINE)[1])
    body = text.partition("# ")[2].partition("\n")[2].strip()
    first = plain(re.split(r"(?<=[.!?])\s", body, maxsplit=1)[0])
    is_prose = re.match(r"[A-Z]", first) and first.endswith((".", "!", "?")) and len(first) < 300
    return f"- [{title}]({page}.html)" + (f": {first}" if is_prose else "")


def plain(text):
    """Returns Markdown in one line, without links, pictures and other marks."""
    return " ".join(re.sub(r"<[^>]+>|[*`]", "", LINK.sub(r"\2", text)).split())
