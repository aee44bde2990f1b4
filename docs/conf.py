"""How the documentation is built: `make docs`."""

from unelisa import __version__

project = "unelisa"
copyright = "2026, the unelisa developers"
release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False
exclude_patterns = ["_build", "study"]

html_theme = "pydata_sphinx_theme"
html_title = "unelisa"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False
