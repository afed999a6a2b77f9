"""Lines of relfit by package: code, docstrings and comments, blank. Run by ``make size``."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

KINDS = ("code", "docstring", "comment", "blank")


def lines_of(path: Path) -> Counter[str]:
    """How many lines of each kind a file has."""
    text = path.read_text(encoding="utf-8")
    kinds = ["blank" if not line.strip() else "code" for line in text.splitlines()]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            kinds[token.start[0] - 1] = "comment"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            statement = node.body[0]
            for number in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                kinds[number - 1] = "docstring" if kinds[number - 1] != "blank" else "blank"
    return Counter(kinds)


def row(name: str, counts: Counter[str]) -> str:
    """One line of the table."""
    lines = sum(counts[kind] for kind in KINDS)
    return f"{name:24}{counts['files']:7}{lines:8,}" + "".join(f"{counts[kind]:11,}" for kind in KINDS)


def main(root: Path) -> None:
    """Print the table."""
    package = root / "relfit"
    packages: dict[str, Counter[str]] = {}
    longest: list[tuple[int, Path]] = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        name = parts[0] if len(parts) > 1 else "(top level)"
        if len(parts) > 2:
            name = f"{name}/{parts[1]}"
        counts = lines_of(path)
        packages.setdefault(name, Counter()).update({**counts, "files": 1})
        longest.append((sum(counts.values()), path.relative_to(root)))
    print(f"{'package':24}{'files':>7}{'lines':>8}" + "".join(f"{kind:>11}" for kind in KINDS))
    total: Counter[str] = Counter()
    for name, counts in sorted(packages.items(), key=lambda item: -sum(item[1][k] for k in KINDS)):
        total.update(counts)
        print(row(name, counts))
    print(row("all", total))
    print("longest: " + ", ".join(f"{path} {lines}" for lines, path in sorted(longest, reverse=True)[:5]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
