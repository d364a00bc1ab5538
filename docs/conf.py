"""
How Sphinx builds these pages: `make docs`.

Law: the build needs no network and takes no warning. Pages are written in Markdown; what a page says is generated is
taken from the docstrings of the package, so that it can't drift from the code.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

_ABOUT = Path(__file__).parents[1] / "pyproject.toml"

project = "forbear"
author = project_copyright = "the forbear authors"
release = version = tomllib.loads(_ABOUT.read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "pictures"]

# Markdown. Links may go to a heading of another page, as on the sites that show a repository.
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

# Docstrings. The signatures of the pages are written out, because types that a reader has to resolve hide the names;
# a type checker shows them where they are needed. A word in single backticks is code, as it is in Markdown.
default_role = "code"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
add_module_names = False
python_display_short_literal_types = True
python_use_unqualified_type_names = True

# Looks. Quotes stay as they are written: on a page about code they are code more often than not.
smartquotes = False
html_theme = "furo"
html_title = f"forbear {release}"
html_static_path = ["_static"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
