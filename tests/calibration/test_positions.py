"""Lines of keys, against texts made so that every key tells its own line."""

from __future__ import annotations

import json
import tomllib

import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from relfit.calibration.positions import lines_of_json, lines_of_toml, nearest_line

KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",), exclude_characters="\x00"), max_size=6)
LEAVES = st.one_of(st.integers(-9, 9), st.booleans(), st.text(max_size=8), st.floats(-1, 1))
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))


def places(value: object, place: tuple = ()) -> list[tuple]:
    """Every key and list entry of a document."""
    if isinstance(value, dict):
        inner = [((*place, key), child) for key, child in value.items()]
    elif isinstance(value, list):
        inner = [((*place, i), child) for i, child in enumerate(value)]
    else:
        return []
    return [p for found, child in inner for p in (found, *places(child, found))]


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, TREES, max_size=5))
def test_every_key_of_toml_is_found(document: dict) -> None:
    text = tomli_w.dumps(document, multiline_strings=True)
    read = tomllib.loads(text)
    lines = lines_of_toml(text)
    assert set(places(read)) == set(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, TREES, max_size=5))
def test_every_key_of_json_is_found_where_it_stands(document: dict) -> None:
    text = json.dumps(document, indent=1)
    lines = lines_of_json(text)
    assert set(places(document)) == set(lines)
    rows = text.split("\n")
    for place, line in lines.items():
        if isinstance(place[-1], str):
            assert rows[line - 1].strip().startswith(json.dumps(place[-1]) + ":")


def test_lines_of_a_file_written_by_hand() -> None:
    text = """# comment with [brackets] = "and" {more}
title = 'a # "b"' # [x]
"dotted.key" = 1
a.b."c d" = [1, # one
  {e = 2}, "]",
]
[table . inner] # why not
k = \"\"\"two
lines "\"\"\"
l = '''
'''
m = {n.o = 3, p = [4]}
[[array]]
q = 1979-05-27T07:32:00Z
[[array]]
[array.sub]
r = "\\u0041\\""
"""
    tomllib.loads(text)
    lines = lines_of_toml(text)
    assert lines == {
        ("title",): 2, ("dotted.key",): 3, ("a",): 4, ("a", "b"): 4, ("a", "b", "c d"): 4,
        ("a", "b", "c d", 0): 4, ("a", "b", "c d", 1): 5, ("a", "b", "c d", 1, "e"): 5, ("a", "b", "c d", 2): 5,
        ("table",): 7, ("table", "inner"): 7, ("table", "inner", "k"): 8, ("table", "inner", "l"): 10,
        ("table", "inner", "m"): 12, ("table", "inner", "m", "n"): 12, ("table", "inner", "m", "n", "o"): 12,
        ("table", "inner", "m", "p"): 12, ("table", "inner", "m", "p", 0): 12,
        ("array",): 13, ("array", 0): 13, ("array", 0, "q"): 14, ("array", 1): 15, ("array", 1, "sub"): 16,
        ("array", 1, "sub", "r"): 17,
    }  # fmt: skip


def test_the_nearest_table_stands_in_for_a_key_that_is_missing() -> None:
    assert nearest_line({("a",): 4}, ("a", "b", 3)) == 4
    assert nearest_line({("a",): 4}, ("c",)) is None
