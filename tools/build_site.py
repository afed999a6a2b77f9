"""Build the site: python tools/build_site.py [--quick]

Writes the reference (docs/reference.md, docs/reference/) from the public names of each package and the gallery's page
from docs/gallery/, and runs Sphinx; a warning, a dead link among the pages, or a public name without a docstring ends
it with 1. The site is in build/site and needs no network.
"""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).resolve().parents[1]
DOCS, SITE = ROOT / "docs", ROOT / "build" / "site"
sys.path[:0] = [str(ROOT)]

PACKAGES = {
    "relfit": "The names used most",
    "relfit.io.datasets": "The sample and public data sets",
    "relfit.io": "Reading, writing and merging logs",
    "relfit.fitting.families": "Distributions",
    "relfit.fitting": "Fits of any number of groups",
    "relfit.fitting.goodness": "Tests of fit",
    "relfit.fitting.nonparametric": "Curves without a distribution",
    "relfit.analyses.screening": "Incidents, changes, nodes, repairs",
    "relfit.analyses.independence": "Whether failures depend on each other",
    "relfit.analyses.recurrence": "Repairable systems",
    "relfit.analyses.regression": "Attributes associated with failures",
    "relfit.system": "k nodes of given ages",
    "relfit.system.jobs": "Jobs on k nodes",
    "relfit.fleet": "The model of a fleet, forecasts",
    "relfit.fleet.calibration": "Parameters for planners and simulators",
    "relfit.planning": "Checkpointing, migration, replication, sparing",
    "relfit.backtesting": "Predictions compared with the outcome",
    "relfit.io.workloads": "Jobs of batch systems",
    "relfit.simulation": "Simulated logs and spares",
    "relfit.simulation.campaigns": "Simulations over values of parameters",
    "relfit.simulation.training": "A training cluster",
    "relfit.simulation.batch": "A batch cluster",
    "relfit.plotting": "Figures",
}
"""Packages of the reference, and what they hold."""


def public(package: str) -> list[str]:
    """Names of a package that are documented, sorted."""
    module = import_module(package)
    values = {name: getattr(module, name) for name in module.__all__}
    return sorted(name for name, value in values.items() if callable(value) and not inspect.ismodule(value))


def write(path: Path, text: str) -> None:
    """Write a page where it differs, so that Sphinx reads again only what changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_reference() -> None:
    """A page for each package with a table of its names, and a page for each name."""
    rows, homes = [], {}
    for package in reversed(PACKAGES):  # of what `rf.` and a package of its own have, the page is in the package
        homes |= {id(getattr(import_module(package), name)): f"{package}.{name}" for name in public(package)} | homes
    for package, what in PACKAGES.items():
        title = "rf" if package == "relfit" else package.removeprefix("relfit.")
        listed = public(package)
        lines = [title, "=" * len(title), "", what + ".", "", ".. autosummary::"]
        home = [homes[id(getattr(import_module(package), name))] for name in listed]
        lines += ["   :toctree: names", "", *[f"   ~{name}" for name in home if name.startswith(f"{package}.")], ""]
        others = [f"   ~{name}" for name in home if not name.startswith(f"{package}.")]
        lines += ["Of packages below:", "", ".. autosummary::", "", *others, ""] if others else []
        write(DOCS / "reference" / f"{package}.rst", "\n".join(lines))
        rows.append(f"| [{title}](reference/{package}.rst) | {what} | {len(listed)} |")
    head = [
        "# Reference",
        "",
        f"{len(set(homes.values()))} public names, from their docstrings.",
        "",
        "| package | holds | names |",
    ]
    tail = ["", "```{toctree}", ":hidden:", "", *[f"reference/{package}" for package in PACKAGES], "```", ""]
    write(
        DOCS / "reference.md", "\n".join([*head, "|---|---|---|", *rows, *tail, "```{toctree}\n\ncommand-line\n```\n"])
    )


def write_gallery() -> None:
    """The page of all figures; the reference describes them."""
    page = (DOCS / "gallery.md").read_text(encoding="utf-8").split("\n## ")[0].rstrip()
    for picture in sorted((DOCS / "gallery").glob("*.png")):
        page += f"\n\n## {picture.stem}\n\n![{picture.stem}](gallery/{picture.name})"
    write(DOCS / "gallery.md", page + "\n")


class Links(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links, pictures and places."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def dead_links(site: Path) -> list[str]:
    """Links among the pages that lead nowhere, and anything that would be loaded from elsewhere."""
    pages = {
        path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if "_static" not in path.parts
    }
    dead = []
    for path, links in pages.items():
        for target in links.targets:
            place, part = urldefrag(target)
            if re.match(r"[a-z]+:|//", target):
                continue
            place = place.split("?")[0]
            goal = (path.parent / unquote(place)).resolve() if place else path
            if not goal.exists() or (part and goal in pages and unquote(part) not in pages[goal].places):
                dead.append(f"{path.relative_to(site)}: {target}")
    return dead


def name_controls(site: Path) -> None:
    """Give what a screen reader meets a name: the theme's arrows have none, and corners of tables are no headers."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        named = text.replace(
            '<summary><span class="toctree-toggle"', '<summary aria-label="Pages"><span class="toctree-toggle"'
        )
        named = re.sub(r"<th(?: [^>]*)?>(?:<p></p>)?</th>", "<td></td>", named)
        if named != text:
            path.write_text(named, encoding="utf-8")


def main() -> int:
    """Write what is generated and build; the exit code."""
    write_reference()
    write_gallery()
    if "--quick" not in sys.argv:
        shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(DOCS), "-b", "html"]
    code = subprocess.run(
        [*command, "-d", str(ROOT / "build" / "doctrees"), str(ROOT), str(SITE)], check=False
    ).returncode
    name_controls(SITE)
    dead = dead_links(SITE) if SITE.exists() else []
    print(*dead, sep="\n", end="\n" if dead else "")
    pages = len(list(SITE.rglob("*.html")))
    print(f"{pages} pages in {SITE}, {len(dead)} dead links")
    return int(code != 0 or bool(dead))


if __name__ == "__main__":
    sys.exit(main())
