"""Checksums of the source that a function of the user's depends on, by which a store knows it again."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def source_checksums(function: object) -> dict[str, str]:
    """By module the checksum of its file: that of the function, and those beside it that it imports, and so on.

    Of a script or a notebook only what the function reaches by name: other lines of it may set up the campaign.
    """
    modules = {getattr(inspect.unwrap(function), "__module__", None) or ""}  # type: ignore[arg-type]
    texts = {"the function": _source(function)}
    if modules == {"__main__"}:
        modules, texts = _reached(function)
    for module in modules:
        place = getattr(sys.modules.get(module), "__file__", None)
        if place is not None:
            depth = module.count(".") + (Path(place).name == "__init__.py")
            _add_files(texts, module, Path(place).resolve().parents[depth])
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in sorted(texts.items())}


def _add_files(texts: dict[str, str], first: str, root: Path) -> None:
    """The text of a module's file, and of all that it imports from below the same folder; not of relfit.

    Of an installed module only those of the same package.
    """
    installed, todo = {"site-packages", "dist-packages"} & set(root.parts), [first]
    while todo:
        name = todo.pop()
        top, place = name.partition(".")[0], root.joinpath(*name.split("."))
        file = next((each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file()), None)
        if name in texts or file is None or top == "relfit" or (installed and top != first.partition(".")[0]):
            continue
        texts[name] = file.read_text(encoding="utf-8", errors="replace")
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        todo += _imported_names(texts[name], package)


def _imported_names(source: str, package: str) -> Iterator[str]:
    """Names of what a source imports, anywhere in it; some may be no modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _reached(function: object) -> tuple[set[str], dict[str, str]]:
    """What a function of a script reaches by name: modules, and texts of functions, classes and plain values."""
    modules, texts, todo = set(), {}, [("the function", function)]
    while todo:
        name, value = todo.pop()
        if isinstance(value, ModuleType):
            modules.add(value.__name__)
        elif name in texts:
            continue
        elif isinstance(value, (FunctionType, type)):
            if value.__module__ != "__main__":
                modules.add(value.__module__)
                continue
            texts[name] = _source(value)
            members = [value] if isinstance(value, FunctionType) else list(vars(value).values())
            names = {each for part in members if isinstance(part, FunctionType) for each in _names(part.__code__)}
            space = vars(sys.modules["__main__"])
            todo += [(each, space[each]) for each in sorted(names & set(space))]
        elif isinstance(value, _PLAIN) or (isinstance(value, (tuple, list, dict, set)) and " at 0x" not in repr(value)):
            texts[name] = repr(value)
    return modules, texts


def _source(value: object) -> str:
    """The source of a function or a class; nothing for a builtin, or what was typed at a prompt."""
    try:
        return inspect.getsource(value)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def _names(code: CodeType) -> Iterator[str]:
    """Global names that code reads, of functions within it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
