"""Which tests can see a mutant, and running them: the coverage map and the forks of ``mutants.py``."""

from __future__ import annotations

import ast
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUDGET = 35.0  # seconds of tests per mutant, by their own times
UNTRACED_BUDGET = 120.0  # where it is not known which tests execute the line
LIMIT = 300.0  # seconds per mutant, at most
# Times are the processor's, so that a busy machine makes nothing look slow; a mutant that only waits is stopped after
# as many times its limit by the clock on the wall.
PATIENCE = 30.0
DEFAULTS = "tests/house/test_defaults.py"
"""Sees every line that is executed on import: defaults of functions, defaults and bounds of settings."""
COMPILERS = {"njit", "compiled", "entry", "inlined", "making_arrays", "merged", "part"}
"""Decorators that compile: pyproject.toml leaves the same out of coverage."""


@dataclass(frozen=True)
class Mutant:
    """One changed file: `source` is its whole text, `line` counts from 1, `tests` run whatever the map."""

    package: str
    path: str
    line: int
    operator: str
    before: str
    after: str
    source: str
    tests: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What tells mutants apart between runs, whatever moved above them."""
        return f"{self.path}|{self.operator}|{self.before}|{self.after}"


class Probe:
    """Pytest plugin: which tests execute which lines, and how long each takes."""

    def __init__(self, file: Path) -> None:
        import coverage

        self.file, self.root = file, Path.cwd()
        self.times: dict[str, float] = {}
        self.coverage = coverage.Coverage(data_file=None, include=["relfit/*"], config_file=False)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Lines from here on belong to this test."""
        self.coverage.switch_context(item.nodeid)
        begun = _processor_time()
        result = yield
        self.times[item.nodeid] = self.times.get(item.nodeid, 0.0) + _processor_time() - begun
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """Lines of a shared fixture belong to all the tests that share it."""
        if fixturedef.scope == "function":
            return (yield)
        self.coverage.switch_context(request.node.nodeid or "tests")
        result = yield
        self.coverage.switch_context(request._pyfuncitem.nodeid)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tests that fail or are skipped cannot kill."""
        if not report.passed:
            self.times[report.nodeid] = 1e9

    def pytest_sessionfinish(self) -> None:
        """Write lines and times."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {
            Path(path).relative_to(self.root).as_posix(): {
                number: [test for test in tests if test]
                for number, tests in data.contexts_by_lineno(path).items()
                if any(tests)
            }
            for path in data.measured_files()
        }
        times = {test: seconds for test, seconds in self.times.items() if seconds < 1e9}
        self.file.write_text(json.dumps({"times": times, "lines": lines}))


def _processor_time() -> float:
    """Seconds the processor has spent on this process and its children."""
    return sum(os.times()[:4])


class Selected:
    """Pytest plugin: only these tests, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Select and sort."""
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda i: self.place[i.nodeid])


def compiled_spans(tree: ast.Module) -> list[tuple[int, int]]:
    """First and last lines of the functions that numba compiles."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in functions
        if COMPILERS & {_name(decorator) for decorator in node.decorator_list}
    ]


def _name(decorator: ast.expr) -> str:
    """The last name of a decorator: njit of ``@numba.njit(cache=True)``."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]


def importers(path: str) -> list[str]:
    """Modules of the package that import a module, and those that import these only for their compiled functions."""
    found, wanted = [path], [path]
    while wanted:
        name = wanted.pop().removesuffix(".py").replace("/", ".")
        for other in sorted((ROOT / "relfit").rglob("*.py")):
            tree = ast.parse(other.read_text(encoding="utf-8"))
            relative = other.relative_to(ROOT).as_posix()
            parent, _, leaf = name.rpartition(".")
            imports = any(
                isinstance(node, ast.ImportFrom)
                and (node.module == name or (node.module == parent and leaf in [a.name for a in node.names]))
                for node in ast.walk(tree)
            )
            if imports and relative not in found:
                found.append(relative)
                wanted += [relative] if compiled_spans(tree) else []
    return found


def statement_lines(tree: ast.Module, line: int) -> range:
    """Lines of the smallest statement at a line, without the statements within it."""
    spans = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            last = node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno  # type: ignore[attr-defined]
            spans.append(range(node.lineno, max(node.lineno, last or 0) + 1))
    return min((span for span in spans if line in span), key=len, default=range(line, line + 1))


def tests_of(mutant: Mutant, traces: dict[str, Any], untraced: bool) -> list[str]:
    """The tests that can see a mutant, fastest first, until their times fill the budget."""
    lines, times = traces["lines"], traces["times"]
    traced = lines.get(mutant.path, {})
    contexts = {
        test for line in statement_lines(ast.parse(mutant.source), mutant.line) for test in traced.get(str(line), [])
    }
    if untraced:  # compiled functions, and lines executed on import
        contexts |= {DEFAULTS} | {
            c for path in importers(mutant.path) for tests in lines.get(path, {}).values() for c in tests
        }
    seen = {test for test in times if test in contexts or test.split("::")[0] in contexts or "tests" in contexts}
    chosen: list[str] = []
    total = 0.0
    for test in sorted(seen, key=lambda test: times[test]):
        total += times[test]
        if chosen and total > (UNTRACED_BUDGET if untraced else BUDGET):
            break
        chosen.append(test)
    return chosen


def run_pytest(
    copy: Path,
    paths: list[str],
    plugin: Callable[[], Any],
    limit: float | None,
    stamp: tuple[Path, Any] | None,
    fail: str = "--maxfail=1",
) -> str:
    """Run pytest in a fork of this process, which has the libraries imported already: killed, survived or timeout.

    Parameters
    ----------
    copy : Path
        A copy of the repository.
    paths : list of str
        What to collect.
    plugin : callable
        Makes the plugin, in the fork.
    limit : float or None
        Seconds of the processor.
    stamp : tuple or None
        A file whose compiled functions stay as they are though it changes, and its stamp in numba's cache.
    fail : str
        When to stop.
    """
    child = os.fork()
    if child == 0:
        os.setpgrp()  # a session of its own would not keep the priority of this one
        os.chdir(copy)
        with Path(copy, "output.txt").open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(copy))
        os.environ["PYTHONPATH"] = str(copy)
        if stamp is not None:
            _keep_compiled(*stamp)
        if limit is not None:
            seconds = int(limit + _processor_time()) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        made = plugin()
        options = [fail, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not verify"]
        code = pytest.main([*options, *paths], plugins=[made] if made else [])
        sys.stdout.flush()
        os._exit(int(code))
    ends = time.monotonic() + PATIENCE * (limit or 1e9)
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return {0: "survived", 5: "survived", -signal.SIGXCPU: "timeout"}.get(code, "killed")  # 5: none
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _keep_compiled(path: Path, stamp: Any) -> None:
    """Let numba's cache take a file for unchanged: none of its compiled functions is."""
    from numba.core import caching

    locator: Any = caching._SourceFileBackedLocatorMixin
    plain = locator.get_source_stamp
    locator.get_source_stamp = lambda self: stamp if Path(self._py_file) == path else plain(self)


def _in_function(text: str, line: int) -> bool:
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return any(node.body[0].lineno <= line <= (node.end_lineno or 0) for node in functions)


def _stamp(path: Path) -> Any:
    """What numba's cache remembers of a file."""
    from numba.core import caching

    locator: Any = caching._SourceFileBackedLocatorMixin
    return locator.get_source_stamp(SimpleNamespace(_py_file=str(path)))


def try_out(mutant: Mutant, copy: Path, traces: dict[str, Any]) -> dict[str, Any]:
    """Put a mutant into a copy of the repository, run its tests, and put the file and its compiled code back."""
    target = copy / mutant.path
    text, times = target.read_text(encoding="utf-8"), target.stat()
    spans = compiled_spans(ast.parse(text))
    inside = any(first <= mutant.line <= last for first, last in spans)
    called = _in_function(text, mutant.line)
    outside = bool(spans) and not inside and called
    tests = list(mutant.tests) or tests_of(mutant, traces, inside or not called)
    begun = time.monotonic()
    row = {**asdict(mutant), "key": mutant.key, "tests": len(tests), "result": "survived"}
    del row["source"]
    if tests:
        stamp = (target, _stamp(target)) if outside else None
        stale = [copy / path for path in importers(mutant.path)] if spans and not outside else []
        kept = [(p, p.read_bytes()) for f in stale for p in (f.parent / "__pycache__").glob(f"{f.stem}.*.nb[ic]")]
        for file, _ in kept:
            file.unlink()
        limit = LIMIT if mutant.tests else min(LIMIT, 60.0 + 3.0 * sum(traces["times"][test] for test in tests))
        target.write_text(mutant.source, encoding="utf-8")
        try:
            paths = tests if mutant.tests else list(dict.fromkeys(test.split("::")[0] for test in tests))
            row["result"] = run_pytest(copy, paths, lambda: None if mutant.tests else Selected(tests), limit, stamp)
        finally:
            target.write_text(text, encoding="utf-8")
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
            for f in stale:
                for p in (f.parent / "__pycache__").glob(f"{f.stem}.*.nb[ic]"):
                    p.unlink()
            for file, content in kept:
                file.write_bytes(content)
    return {**row, "seconds": round(time.monotonic() - begun, 1)}


def copy_repository(folder: Path, origin: Path = ROOT) -> Path:
    """A copy of what is needed, with its compiled code."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folders = ("relfit", "tests", "tools", "papers", "data", "docs", "benchmarks")
    names = (*folders, "conftest.py", "pyproject.toml", "README.md")
    subprocess.run(["cp", "-a", *(str(origin / name) for name in names), str(folder)], check=True)
    return folder


def coverage_map(copy: Path, paths: list[str], file: Path, again: bool) -> dict[str, Any]:
    """Which tests below some paths execute which lines, and their times; read from the file if it was made before."""
    if again or not file.exists():
        print(f"mapping {' '.join(paths)} ...", flush=True)
        file.unlink(missing_ok=True)
        run_pytest(copy, paths, lambda: Probe(file), None, None, "--maxfail=1000")
    return dict(json.loads(file.read_text()))


def import_libraries() -> None:
    """What every run needs and no mutant changes, so that forks have it."""
    import gc

    import numba

    for name in ("pandas", "pyarrow", "scipy.stats", "scipy.optimize", "hypothesis", "pydantic", "lifelines", "jinja2"):
        __import__(name)
    numba.njit(lambda x: x + 1.0)(1.0)  # the compiler, too, is ready then
    assert not any(name.split(".")[0] == "relfit" for name in sys.modules)
    gc.collect()
    gc.freeze()  # forks share the memory of what is there, and their collections pass over it
