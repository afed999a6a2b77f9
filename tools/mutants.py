"""Mutation testing: break the code in a random sample of places and count what the tests notice.

Run by ``make mutants``. A place is an operator, a comparison, a number, a keyword or a loop that one of cosmic-ray's
operators can change; places are drawn at random, then one change of each place. Changes that cannot but crash
(bitwise operators on floats, ``is`` for ``<``), checks of lengths (``strict`` of ``zip``) and text (annotations,
messages, ``__repr__``) are left out: they would say nothing of the tests. All packages are drawn from, and the modules
that stand beside them (``core``).
Each mutant meets only the tests of its package (``tests/`` and its name, and those of `ALSO`) that execute its line,
by a coverage map that is made first; inside compiled functions, which are not traced, those that execute the modules
that import them. A mutant that runs out of the processor's time counts as killed.

No test can kill some mutants: what they compute is the same. Those of ``mutants_equivalent.toml``, each with its
reason, are counted apart; two shares are printed, of all mutants and of those that are not listed there.

``--by-hand`` runs the mutants of ``mutants_by_hand.toml`` instead, one for each rule that a test must defend.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import queue
import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from mutant_runs import DEFAULTS, ROOT, Mutant, copy_repository, coverage_map, import_libraries, try_out

OPENED = ("base", "io", "fitting", "analyses", "system", "fleet", "simulation")
"""Packages whose inner packages are drawn from, and tested, each for itself."""
FOLDERS = {path.parent.name: path.parent for path in sorted((ROOT / "relfit").glob("*/__init__.py"))} | {
    path.parent.name: path.parent for top in OPENED for path in sorted((ROOT / "relfit" / top).glob("*/__init__.py"))
}
CORE = ("base", "log")
"""Packages whose own modules, with those of no package, are tested in ``tests/core``."""
PACKAGES = ("core", *sorted(FOLDERS.keys() - {*CORE, "analyses"}))
ALSO = {
    "cli": ("core", "batch", "training", "campaigns", "planning", "live"),
    "core": ("reporting",),
    "engine": ("simulation", "batch"),
    "families": ("fitting",),
    "fitting": ("calibration",),
    "goodness": ("fitting",),
    "jobs": ("planning",),
    "numeric": ("core", "fitting", "goodness", "nonparametric"),
    "parsing": ("io",),
    "planning": ("simulation", "fleet"),
    "plotting": ("batch", "planning"),
    "prediction": ("fleet",),
    "sparing": ("simulation",),
    "surveillance": ("live",),
}
"""Other folders of tests that are of what a package does, too."""
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow")
BITWISE = ("BitOr", "BitAnd", "BitXor")
COMPARISONS = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
OTHERS = (
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceUnaryOperator_USub_UAdd",
    "ReplaceUnaryOperator_Delete_Invert",
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "NumberReplacer",
    "ZeroIterationForLoop",
)


def sources(package: str) -> list[Path]:
    """Modules of a package that hold code to break."""
    if package == "core":
        files = [file for folder in ("", *CORE) for file in sorted((ROOT / "relfit" / folder).glob("*.py"))]
    else:
        inner = [folder for folder in FOLDERS.values() if folder.parent == FOLDERS[package]]
        files = [
            file for file in sorted(FOLDERS[package].rglob("*.py")) if file.parent not in inner or package not in OPENED
        ]
    return [file for file in files if not file.name.startswith("__")]


def test_paths(package: str) -> list[str]:
    """What pytest runs for a package: its tests, the examples in its docstrings, and the record of defaults."""
    own = [path.relative_to(ROOT).as_posix() for path in sources(package)]
    folders = [f"tests/{name}" for name in (package, *ALSO.get(package, ()))]
    return [*(folder for folder in folders if (ROOT / folder).is_dir()), *own, DEFAULTS]


# ------------------------------------------------------------------------------------------------ which mutants


def operator_names() -> list[str]:
    """Names of cosmic-ray's operators that are used."""
    names = list(OTHERS)
    for kind, family in (("Binary", ARITHMETIC), ("Binary", BITWISE), ("Comparison", COMPARISONS)):
        names += [f"Replace{kind}Operator_{old}_{new}" for old in family for new in family if old != new]
    return names


def _is_text(node: ast.AST) -> bool:
    """Whether a syntax node holds no computation: messages, representations, lists of names, checks of types."""
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__repr__", "_repr_html_", "headline", "findings")
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) == "__all__" or ast.unparse(node.value).startswith("npt.")
    return isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr)


def skipped_spans(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """From where to where (line, column) no mutant is made."""
    nodes = [node for node in ast.walk(tree) if _is_text(node)]
    for node in ast.walk(tree):
        nodes += [part for name in ("annotation", "returns") if (part := getattr(node, name, None)) is not None]
        nodes += getattr(node, "decorator_list", [])
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            nodes += [keyword.value for keyword in node.keywords]
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in nodes]  # type: ignore[attr-defined]


def places(path: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """Every place of a file, by its position, with the operators that can change it and the number of the change."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    text = path.read_text(encoding="utf-8")
    spans = skipped_spans(ast.parse(text))
    nodes = list(ast_nodes(get_ast(text)))
    # the operators that replace one symbol by another, nine of ten, look only at nodes that can hold it
    kinds = {kind: [n for n in nodes if n.type == kind] for kind in ("operator", "comparison")}
    table: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in operator_names():
        operator = get_operator(f"core/{name}")()
        kind = {"ReplaceBinaryOperator": "operator", "ReplaceComparisonOperator": "comparison"}.get(name.split("_")[0])
        number = -1
        for node in nodes if kind is None else kinds[kind]:
            for start, _ in operator.mutation_positions(node):
                number += 1
                if not any(first <= start < last for first, last in spans):
                    table.setdefault(start, []).append((name, number))
    return table


def mutants(packages: list[str], rng: random.Random) -> Iterator[Mutant]:
    """All places of some packages in random order, one change of each."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    files = [(package, path) for package in packages for path in sources(package)]
    everywhere = [(package, path, changes) for package, path in files for changes in places(path).values()]
    rng.shuffle(everywhere)
    for package, path, changes in everywhere:
        name, number = rng.choice(changes)
        text = path.read_text(encoding="utf-8")
        source = mutate_code(text, get_operator(f"core/{name}")(), number)
        try:
            same = source is None or ast.dump(ast.parse(source)) == ast.dump(ast.parse(text))
        except SyntaxError:
            continue
        if not same:
            yield _mutant(package, path.relative_to(ROOT).as_posix(), name, text, str(source))


def _mutant(package: str, path: str, operator: str, text: str, source: str) -> Mutant:
    """The mutant with the first line that differs."""
    old, new = text.splitlines(), source.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new) - 1)
    return Mutant(package, path, at + 1, operator, old[at].strip(), new[at].strip(), source)


def by_hand(path: Path) -> Iterator[Mutant]:
    """The mutants of a list: tables ``[[mutant]]`` with name, package, file, old and new text, and tests to run.

    Raises
    ------
    SystemExit
        If an old text does not stand exactly once in its file.
    """
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
        text = (ROOT / row["file"]).read_text(encoding="utf-8")
        if text.count(row["old"]) != 1:
            sys.exit(f"{row['name']!r}: the old text stands {text.count(row['old'])} times in {row['file']}")
        mutant = _mutant(row["package"], row["file"], row["name"], text, text.replace(row["old"], row["new"]))
        yield replace(mutant, tests=tuple(row["tests"]))


def equivalent(path: Path) -> set[tuple[str, str, str]]:
    """File, line before and line after of the mutants that compute the same.

    Raises
    ------
    SystemExit
        If a line does not stand in its file.
    """
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    for row in rows:
        lines = [line.strip() for line in (ROOT / row["file"]).read_text(encoding="utf-8").splitlines()]
        if row["old"] not in lines or not row["why"]:
            sys.exit(f"{path.name}: {row['old']!r} is no line of {row['file']}, or no reason is given")
    return {(row["file"], row["old"], row["new"]) for row in rows}


# ------------------------------------------------------------------------------------------------ running


def coverage_maps(copies: list[Path], packages: list[str], folder: Path, again: bool) -> dict[str, Any]:
    """The coverage map of each package by its name; each copy makes one at a time."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for copy in copies:
        free.put(copy)

    def made(package: str) -> dict[str, Any]:
        copy = free.get()
        try:
            return coverage_map(copy, test_paths(package), folder / f"map-{package}.json", again)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as threads:
        return dict(zip(packages, threads.map(made, packages), strict=True))


def _work(copy: Path, todo: list[Mutant], taken: Any, done: Any, maps: dict[str, Any], ends: float) -> None:
    """A worker with a copy of its own; the workers count together which mutants are taken."""
    while time.monotonic() < ends:
        with taken.get_lock():
            number, taken.value = taken.value, taken.value + 1
        if number >= len(todo):
            break
        done.put(try_out(todo[number], copy, maps.get(todo[number].package, {})))
    done.put(None)


def table(rows: list[dict[str, Any]], only_survivors: bool) -> None:
    """Print every mutant, then the share killed of each package and of all."""
    for row in sorted(rows, key=lambda row: (row["path"], row["line"])):
        if row["result"] == "survived" or not only_survivors:
            print(f"{row['result']:9} {row['path']}:{row['line']} {row['operator']} ({row['tests']} tests)")
            print(f"          - {row['before']}\n          + {row['after']}")
    heads = ("mutants", "killed", "timeout", "survived", "equivalent", "killed, %", "but equiv., %")
    print(f"\n{'package':14}" + "".join(f"{head:>{len(head) + 2}}" for head in heads))
    for package in [*dict.fromkeys(sorted(row["package"] for row in rows)), "all"]:
        count = Counter(row["result"] for row in rows if package in (row["package"], "all"))
        noticed, same = count["killed"] + count["timeout"], count["equivalent"]
        shares = [f"{100 * noticed / max(total, 1):.1f}" for total in (count.total(), count.total() - same)]
        cells = (count.total(), *(count[name] for name in heads[1:5]), *shares)
        print(f"{package:14}" + "".join(f"{cell:>{len(head) + 2}}" for cell, head in zip(cells, heads, strict=True)))


def main() -> int:
    """Read the options, run, print; 1 if fewer than `--at-least` percent were killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sample", type=int, default=400, help="mutants (400); a larger sample holds the smaller")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", "--rooms", nargs="+", default=list(PACKAGES), choices=PACKAGES, metavar="NAME")
    parser.add_argument("--by-hand", action="store_true", help="run the mutants of mutants_by_hand.toml instead")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no mutant after this many minutes")
    parser.add_argument("--json", type=Path, help="write results here; do not run again what it holds")
    parser.add_argument("--list-survivors", action="store_true", help="print only the mutants that survived")
    parser.add_argument("--keep-map", action="store_true", help="use the coverage map of the last run")
    parser.add_argument("--at-least", type=float, default=85.0, help="percent killed that is asked for (85)")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "relfit-mutants")
    options = parser.parse_args()
    begun = time.monotonic()
    os.environ.setdefault("RELFIT_SHARED", str(ROOT.parent / "shared"))
    rows: list[dict[str, Any]] = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    if options.by_hand:
        sample = list(by_hand(Path(__file__).with_name("mutants_by_hand.toml")))
    else:
        drawn = mutants(options.packages, random.Random(options.seed))
        sample = [mutant for mutant, _ in zip(drawn, range(options.sample), strict=False)]
    known = {row["key"] for row in rows}
    todo = [mutant for mutant in sample if mutant.key not in known]
    import_libraries()
    options.folder.mkdir(parents=True, exist_ok=True)
    private = tempfile.TemporaryDirectory(dir=options.folder)
    copies = [copy_repository(Path(private.name) / str(number)) for number in range(options.workers)]
    packages = list(dict.fromkeys(mutant.package for mutant in todo if not mutant.tests))
    maps = coverage_maps(copies, packages, options.folder, not options.keep_map)
    taken: Any = multiprocessing.Value("i", 0)
    done: Any = multiprocessing.Queue()
    ends = begun + 60 * options.minutes
    workers = [multiprocessing.Process(target=_work, args=(copy, todo, taken, done, maps, ends)) for copy in copies]
    for worker in workers:
        worker.start()
    running = len(workers)
    while running:
        row = done.get()
        if row is None:
            running -= 1
            continue
        rows.append(row)
        print(f"{len(rows):4} {row['seconds']:6.1f} s {row['result']:9} {row['path']}:{row['line']}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    private.cleanup()
    same = equivalent(Path(__file__).with_name("mutants_equivalent.toml"))
    for row in rows:
        if row["result"] == "survived" and (row["path"], row["before"], row["after"]) in same:
            row["result"] = "equivalent"
    table(rows, options.list_survivors)
    killed = sum(row["result"] in ("killed", "timeout") for row in rows)
    return int(100 * killed < options.at_least * len(rows))


if __name__ == "__main__":
    sys.exit(main())
