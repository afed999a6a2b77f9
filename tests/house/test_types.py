"""Parameters say what they take: `Any` is for what cannot be said."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import relfit
from tests.house.sources import nodes_of

ROOT = Path(relfit.__file__).parent
FEWER_THAN = 100


def any_parameters(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Function and parameter of each annotation that holds `Any`, as ``Any`` or ``dict[str, Any]``."""
    for node in nodes:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        own = node.args
        further = [each for each in (own.vararg, own.kwarg) if each is not None]
        for each in (*own.posonlyargs, *own.args, *own.kwonlyargs, *further):
            names = ast.walk(each.annotation) if each.annotation is not None else ()
            if any(isinstance(name, ast.Name) and name.id == "Any" for name in names):
                yield f"{node.name}({each.arg})"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(a: Any, b: int, *c: Any, d: dict[str, Any], **e: Callable[..., Any]): ...", ["a", "d", "c", "e"]),
        ("class C:\n    def f(self, a: npt.ArrayLike, b: object) -> Any: ...", []),
        ("def f(a):\n    def g(b: Any): ...", ["b"]),
    ],
)
def test_parameters_of_any_type_are_counted(source: str, names: list[str]) -> None:
    assert sorted(text.partition("(")[2].rstrip(")") for text in any_parameters(ast.walk(ast.parse(source)))) == sorted(
        names
    )


def test_few_parameters_are_of_any_type() -> None:
    places = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sorted(ROOT.rglob("*.py"))
        for text in any_parameters(nodes_of(path))
    ]
    assert len(places) < FEWER_THAN, "say what these take:\n" + "\n".join(places)
