"""Figures of a command: all on one sheet, or each in a file of its own in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.base.errors import ArgumentError
from relfit.base.writing import check_writable, complete

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Picture = tuple[str, Callable[..., Any]]  # a name, and what draws into ``ax``
ENDINGS = (".png", ".svg", ".pdf")
_SIZE = (5.6, 3.9)
_DPI = 150


def check_place(path: Path | None) -> None:
    """Reject, before any work, a place where no figures could be written.

    Raises
    ------
    ArgumentError
        For another ending than .png, .svg and .pdf, a missing folder, or a place where nothing can be written.
    """
    if path is None:
        return
    if path.is_dir():
        check_writable(path / "figure.png")
        return
    if path.suffix.lower() not in ENDINGS:
        raise ArgumentError(
            f"--plot {path} is neither a folder nor a file that ends in {' or '.join(ENDINGS)}",
            remedy="name a folder that exists or ends in /, or a file",
        )
    if not path.parent.is_dir():
        raise ArgumentError(f"--plot {path}: there is no folder {path.parent}", remedy="make it first")
    check_writable(path)


def write_figures(pictures: Sequence[Picture], path: Path) -> list[str]:
    """Write the figures; lines that say where they are."""
    from matplotlib.figure import Figure

    from relfit.plotting import look

    if not pictures:
        return ["there is nothing to draw, so no figure was written"]
    with look():
        if path.is_dir():
            for name, draw in pictures:
                sheet = Figure(figsize=_SIZE, layout="constrained")
                draw(ax=sheet.add_subplot())
                _wrap_titles(sheet)
                _save(sheet, path / f"{name}.png")
            return [f"figures written to {path}: {', '.join(f'{name}.png' for name, _ in pictures)}"]
        columns = min(len(pictures), 2)
        rows = -(-len(pictures) // columns)
        sheet = Figure(figsize=(_SIZE[0] * columns, _SIZE[1] * rows), layout="constrained")
        for number, (_, draw) in enumerate(pictures):
            draw(ax=sheet.add_subplot(rows, columns, number + 1))
        _wrap_titles(sheet)
        _save(sheet, path)
    return [f"{len(pictures)} figure{'s' if len(pictures) != 1 else ''} written to {path}"]


def _wrap_titles(sheet: Figure) -> None:
    """Break titles anew to the widths that the axes have once legends and labels have taken their room."""
    import warnings

    from relfit.plotting import style

    layout = sheet.get_layout_engine()
    if layout is None:
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        layout.execute(sheet)  # places the axes, as drawing all of the sheet would, in half its time
    for ax in sheet.axes:
        said = ax.get_title(loc="left")
        if said:
            style.title(ax, " ".join(said.split("\n")))


def _save(sheet: Figure, path: Path) -> None:
    import warnings

    kind = path.suffix.lower()[1:]
    # the same figures are the same file
    metadata = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with complete(path) as part, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        sheet.savefig(part, format=kind, dpi=_DPI, metadata=metadata)
