"""The configuration of Sphinx; `python -m tools.site` names the folders."""

import os
import pathlib

STATIC = pathlib.Path(os.environ["KAR_SITE_STATIC"])

project = "keras_adaptive_rnn"
author = "The keras_adaptive_rnn authors"
release = version = os.environ["KAR_SITE_VERSION"]
extensions = ["myst_parser", "sphinx_copybutton", "tools.site.mathematics"]
exclude_patterns = []

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "html_image"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
# `$$` inside a line is mathematics of its own line, as in the docstrings.
myst_dmath_double_inline = True

katex = str(STATIC / "katex" / "katex.min.js")
html_math_renderer = "katex"

html_theme = "furo"
html_title = project
html_favicon = "static/favicon.svg"
html_static_path = [str(pathlib.Path(__file__).parent / "static"), str(STATIC)]
html_extra_path = [os.environ["KAR_SITE_EXTRA"]]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#9c2f1f",
        "color-brand-content": "#9c2f1f",
        "color-brand-visited": "#7a2a4f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#ff9d7e",
        "color-brand-content": "#ff9d7e",
        "color-brand-visited": "#e0a3c8",
    },
}
python_maximum_signature_line_length = 60
python_use_unqualified_type_names = True
add_module_names = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
