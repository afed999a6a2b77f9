"""The site's pages: all can be reached, how-to pages keep their form, answers come, pictures are as stored."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

import relfit as rf
from relfit import plotting
from relfit.cli.app import main
from tests.plotting.figure_data import gallery

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HOW_TO = sorted(page for page in (DOCS / "how-to").glob("*.md") if page.name != "index.md")
QUICK = (
    "causes",
    "chi_square_bins",
    "completion_curve",
    "events_over_time",
    "decision_map",
    "job_shares",
    "yield_of_replicas",
)
"""Figures that take less than a second; the others are compared by make verify."""


def in_tables_of_contents(page: Path) -> list[Path]:
    """Pages that a page's tables of contents name."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return [(page.parent / name).resolve() for name in names]


def test_every_page_can_be_reached() -> None:
    reached, ahead = set(), [DOCS / "index"]
    while ahead:
        place = ahead.pop()
        if place in reached:
            continue
        reached.add(place)
        if (page := place.with_name(f"{place.name}.md")).exists():
            ahead += in_tables_of_contents(page)
    pages = {page.with_suffix("") for page in [*DOCS.glob("*.md"), *HOW_TO, *(ROOT / "notebooks").glob("*.ipynb")]}
    assert pages - reached == set()


def test_no_line_of_a_page_is_a_comment() -> None:
    """To Sphinx a line that begins with a percent sign is one: "a job loses 52.2 / % of the time" lost the second."""
    code = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.rglob("*.md")]
    texts = {page.name: code.sub("", page.read_text(encoding="utf-8")) for page in pages}
    assert [name for name, text in texts.items() if re.search(r"^\s*%", text, re.MULTILINE)] == []


def test_there_are_twenty_questions() -> None:
    assert len(HOW_TO) >= 20


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_question_a_command_three_lines_an_answer_a_picture(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(r"# .+\?\n", text)
    assert len(re.findall(r"^\$ relfit ", text, re.MULTILINE)) in (1, 2)
    assert 1 <= len([line for line in re.findall(r"^>>> (.+)$", text, re.MULTILINE) if "import" not in line]) <= 3
    (picture,) = re.findall(r"!\[.+\]\((.+)\)", text)
    assert (page.parent / picture).exists()
    assert len(text.splitlines()) <= 50


WITH_FILES = [page for page in HOW_TO if "```t" in page.read_text(encoding="utf-8")]
OTHERS = [pytest.param(page, marks=pytest.mark.verify) for page in HOW_TO if page not in WITH_FILES]
"""What the same commands answer is tested in tests/cli, too; make verify compares the pages' words."""


@pytest.mark.slow
@pytest.mark.parametrize("page", [*WITH_FILES, *OTHERS], ids=lambda page: page.stem)
def test_the_answer_comes(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a page shows below a command is in what the command prints; files that it shows are written before."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for name, content in re.findall(r"```toml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        Path(name).write_text(content, encoding="utf-8")
    for content in re.findall(r"```text\n(.*?)```", text, re.DOTALL):
        Path("failures.csv").write_text(content, encoding="utf-8")
    if "rf.write(" in text or "write_workload(" in text:  # the lines of Python make the file of the command
        lines = doctest.DocTestParser().get_doctest(text, {}, page.name, None, 0)
        doctest.DocTestRunner(verbose=False).run(lines)
    (console,) = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    answer = " ".join(line for line in console.splitlines() if not line.startswith("$"))
    for command in re.findall(r"^\$ relfit (.+)$", console, re.MULTILINE):
        capsys.readouterr()
        assert main(shlex.split(command)) == 0
    assert answer in " ".join(capsys.readouterr().out.split())


def test_the_gallery_has_every_figure() -> None:
    figures = set(plotting.__all__) - {"plot", "look", "family_mark"}
    assert set(gallery().FIGURES) == figures
    assert {picture.stem for picture in (DOCS / "gallery").glob("*.png")} == figures


def difference(name: str, place: Path) -> float:
    """How far a figure drawn anew is from the stored one: share of pixels that differ clearly."""
    mpl.use("Agg")
    now, stored = imread(gallery().draw(name, place)), imread(DOCS / "gallery" / f"{name}.png")
    assert now.shape == stored.shape
    return float((np.abs(now - stored).max(axis=2) > 0.25).mean())


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.slow
def test_figures_are_as_stored(name: str, tmp_path: Path) -> None:
    assert difference(name, tmp_path) < 0.002


def test_another_figure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = gallery()
    log = rf.read("white").where(cause=["software", "network"])
    monkeypatch.setitem(module.FIGURES, "causes", lambda ax: plotting.causes(log, ax))
    now, stored = imread(module.draw("causes", tmp_path)), imread(DOCS / "gallery" / "causes.png")
    assert now.shape != stored.shape or (np.abs(now - stored).max(axis=2) > 0.25).mean() > 0.01


@pytest.mark.verify
def test_all_figures_are_as_stored(tmp_path: Path) -> None:
    assert {name: share for name in gallery().FIGURES if (share := difference(name, tmp_path)) >= 0.002} == {}


def test_shapes_in_docstrings_are_literal() -> None:
    """A star before a name, as in ``(n_nodes, *at)``, begins emphasis that never ends unless it is quoted."""
    loose = re.compile(r"(?<!`)\(\w+, \*\w+\)(?!`)")
    named = [
        path
        for path in (ROOT / "relfit").rglob("*.py")
        for text in re.findall(r'"""(.*?)"""', path.read_text(), re.DOTALL)
        if loose.search(text)
    ]
    assert named == []
