"""Settings of Sphinx for the site; `make docs` calls it through docs/site/__main__.py, with every warning an error."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import transformer_mb  # noqa: E402  # from this checkout
from docs.site.notebooks import kept_outputs  # noqa: E402

project = "transformer_mb"
author = copyright = "transformer_mb contributors"
version = release = transformer_mb.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.site.mathml"]
extensions += ["docs.site.notebooks", "docs.site.extension"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["errata", "site", "_static", "_build"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
html_math_renderer = "mathml"

# Notebooks run when the site is made; what a cell prints is in no file of the repository.
nb_execution_mode = "cache"
nb_execution_cache_path = str(kept_outputs())
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_execution_in_temp = True  # what a notebook writes is gone with its folder
nb_merge_streams = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
# A class that two public modules have is found under both names; either leads to it.
suppress_warnings = ["ref.python"]
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "transformer_mb"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
