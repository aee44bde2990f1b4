"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

from unelisa import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "unelisa"
copyright = "2026, the unelisa developers"
release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "mathml",
    "message_reference",
    "offline",
]
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
highlight_language = "none"
html_math_renderer = "mathml"  # typeset at build time: a page loads nothing from a network
autosummary_generate = True
autodoc_typehints = "none"  # types stand in the signature's source; aliases read badly there
numpydoc_show_class_members = False
exclude_patterns = ["_build", "_templates", "extensions", "study"]
templates_path = ["_templates"]

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "ignore_pattern": r"^(?!plot_)",  # other programs there are no pages
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,  # an example that fails is a page that lies
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # a page that loads its style from a network
    "show_signature": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "unelisa"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "header_links_before_dropdown": 4,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": True,
}
html_sidebars = {"index": []}
html_show_sourcelink = False
