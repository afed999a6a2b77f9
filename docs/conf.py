"""Settings of the site: Sphinx, MyST, numpydoc, pydata-sphinx-theme. `make site` builds it (tools/build_site.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

import relfit

project, author, copyright = "relfit", "the relfit developers", "the relfit developers"
version = release = relfit.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]

root_doc = "docs/index"
include_patterns = ["docs/**.md", "docs/reference/**.rst", "notebooks/*.ipynb", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = [".venv", "build", "tests", "relfit", "benchmarks", "**/.ipynb_checkpoints"]
templates_path = [str(Path(__file__).parent / "site" / "templates")]  # autosummary would look in the root
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks are stored with what they show; tests execute them
nb_merge_streams = True
suppress_warnings = ["myst.xref_missing_source"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_sidebars = {"docs/gallery": []}  # it stands alone in its section
html_title = f"relfit {release}"
html_static_path = ["site/static"]
html_css_files = ["relfit.css"]
html_extra_path = ["site/root"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark as the reader's machine
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def keys(app: object, what: str, name: str, thing: Any, options: object, lines: list[str]) -> None:
    """Add the described fields of a model to its docstring, before numpydoc reads it."""
    if what != "class" or not issubclass(thing, BaseModel) or {"Attributes", "Parameters"} & set(lines):
        return
    fields = {key: field for key, field in thing.model_fields.items() if field.description}
    if fields:
        lines += ["", "Attributes", "----------"]
    for key, field in fields.items():
        default = "" if field.is_required() or field.default_factory else f", by default {field.get_default()!r}"
        lines += [f"{key}", f"    {field.description}" + (default if len(default) < 60 else "")]


def setup(app: Any) -> None:
    """Describe keys of files by their schema."""
    app.connect("autodoc-process-docstring", keys, priority=400)
