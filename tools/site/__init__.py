"""The documentation site: the pages under docs/, a page for each public name, the catalogue and the live page.

`python -m tools.site` builds it. `pages` copies what is written by hand; `names`, `docstrings` and `reference` write
the pages of public names; `weights` measures sizes; `catalogue` compares the cells; `live` exports the model that the
reader's browser runs; `conf.py` and `mathematics` configure Sphinx.
"""
