"""Files come whole or not at all, and never over what is read."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relfit as rf
from relfit.base.writing import complete, guarded, sparing, unguarded
from relfit.cli.app import main
from relfit.cli.fits_file import system_from_file
from relfit.cli.output import write_table


def test_two_writers_do_not_swap_their_files(tmp_path):
    texts = {f"{i}.txt": f"{i}" * 20_000 for i in range(4)}

    def write(name: str) -> None:
        for _ in range(50):
            with complete(tmp_path / name) as part:
                part.write_text(texts[name])

    threads = [threading.Thread(target=write, args=(name,)) for name in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr("relfit.base.writing.secrets.token_hex", lambda _: "known")
    (tmp_path / ".relfit-known.part").symlink_to(victim)
    with pytest.raises(rf.ArgumentError, match="cannot write"), complete(tmp_path / "x.txt") as part:
        part.write_text("theirs")
    assert victim.read_text() == "mine"


def test_permissions_and_links_of_the_target_stay(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with complete(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("new", 0o640)


@pytest.mark.parametrize("context", ["complete", "workplace"])
def test_what_a_killed_writer_left_goes_and_what_is_being_written_stays(context, tmp_path):
    code = (
        f"import sys, time; from pathlib import Path; from relfit.base.writing import {context}\n"
        f"with {context}(Path({str(tmp_path)!r}, 'a.txt')) as part:\n"
        " if part.is_dir(): (part / 'inner').touch()\n"
        " print('up', flush=True); time.sleep(60)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "up\n"
    (part,) = tmp_path.glob(".relfit-*")
    long_ago = time.time() - 3600
    os.utime(part, (long_ago, long_ago))
    with complete(tmp_path / "b.txt") as other:
        other.write_text("b")
    assert part.exists()
    writer.kill()
    writer.wait()
    with complete(tmp_path / "b.txt") as other:
        other.write_text("b")
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_what_is_read_is_not_written_over(tmp_path):
    path, link = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("kept")
    link.hardlink_to(path)
    with sparing([path]), pytest.raises(rf.ArgumentError, match="is what is read"), complete(link) as part:
        part.write_text("lost")
    assert path.read_text() == "kept"


@pytest.mark.parametrize(
    "command",
    [
        ["info", "{log}", "-o", "{log}"],
        ["info", "{log}", "--out={dir}/../d/log.csv"],
        ["incidents", "{log}", "-o{log}"],
        ["fit", "{log}", "--no-censor", "-o", "{log}"],
        ["incidents", "{dir}/incidents.csv", "-o", "{dir}"],
        ["report", "{page}", "-o", "{page}"],
        ["info", "{log}", "--column", "population={nodes}", "-o", "{nodes}"],
        ["info", "{dir}/l*.csv", "-o", "{log}"],
        ["info", "{dir}", "-o", "{log}"],
    ],
)
def test_no_command_writes_over_its_input(tmp_path, capsys, command):
    folder = tmp_path / "d"
    folder.mkdir()
    text = "node,start,end\n" + "".join(f"n{i % 3},2024-01-{i:02d},2024-01-{i:02d} 01:00\n" for i in range(1, 20))
    names = {"log": "log.csv", "page": "log.html", "x": "incidents.csv"}
    places = {name: str(folder / file) for name, file in names.items()}
    places["nodes"] = str(folder / "nodes.csv")
    for place in places.values():
        Path(place).write_text(text)
    Path(places["nodes"]).write_text("node\nn0\nn1\nn2\n")
    assert main([part.format(dir=folder, **places) for part in command]) == 2
    assert "is what is read" in capsys.readouterr().err
    assert all(Path(place).read_text() == text for name, place in places.items() if name != "nodes")
    assert Path(places["nodes"]).read_text() == "node\nn0\nn1\nn2\n"


def test_formulas_in_written_tables_are_guarded(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("node,start,end\n=1+1,2024-01-01,2024-01-02\n=1+1,never,\n@x,2024-01-03,2024-01-04\n")
    assert main(["info", str(path), "-o", str(tmp_path / "refused.csv")]) == 0
    assert "'=1+1,never," in (tmp_path / "refused.csv").read_text()


@given(st.text(st.sampled_from("=+@' \\x1bu20e\x1b\u202e\u2066\t\na\uff1d\xa0"), max_size=12))
def test_cells_steer_nothing_and_are_read_back_as_they_were(text):
    cell = guarded(text)
    assert not re.search("[\x1b\u202e\u2066]", cell)
    assert not cell.lstrip(" ").startswith(("=", "+", "@", "\t", "\n", "\uff1d"))
    assert unguarded(cell) == text


def test_names_in_a_file_of_fits_are_read_back_as_they_were(tmp_path):
    names = ["=1+1", "'=1+1", "\x1b[31mred", "\u202eabc", r"C:\x1b", r"C:\\a"]
    lives = {name: [1.0 + i, 3.0, 9.0] for i, name in enumerate(names)}
    write_table(rf.fit(rf.LifeData.from_groups(lives), families=["exponential"]).to_frame(), tmp_path / "fits.csv")
    text = (tmp_path / "fits.csv").read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"\x1b[31mred" in text
    assert list(system_from_file(tmp_path / "fits.csv").names) == names


@pytest.mark.parametrize(
    "command",
    [["forecast"], ["incidents"], ["trend"], ["nodes", "--export", "slurm"], ["fit", "--families", "exponential"]],
)
@pytest.mark.slow
def test_hostile_names_in_every_table_that_is_written(tmp_path, monkeypatch, capsys, command):
    names = [
        "n1",
        "=1+1",
        "@x",
        "-2+3",
        "\t=1",
        "<script>x</script>",
        "../../evil",
        "\x1b[31mred",
        "\u202eabc",
        "$\\frac{$",
        "a,b",
        'a"b',
        "x\ny",
        "$(touch evil)",
        "M" * 50_000,
    ]
    rows = [
        (
            name,
            f"2024-{1 + k // 2:02d}-{1 + 13 * (k % 2) + i % 14:02d} {i:02d}:00",
            names[1 + (i + k) % 3],
            names[1 + i % 4],
        )
        for k in range(24)
        for i, name in enumerate(names)
    ]
    monkeypatch.chdir(tmp_path)
    with Path("log.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("node", "start", "cause", "rack"), *rows])
    folder = tmp_path / "out" / "tables"
    folder.mkdir(parents=True)
    place = str(folder / "fits.csv" if command[0] == "fit" else folder)
    assert main([command[0], "log.csv", *command[1:], "-o", place]) == 0
    shown = capsys.readouterr().out
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    csv.field_size_limit(10**6)
    for path in folder.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        texts = [cell for cell in cells if not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|-?inf", cell)]
        assert not [cell for cell in texts if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))]
        assert all(sign.isprintable() or sign == "\n" for cell in cells for sign in cell)
    for script in folder.glob("*.sh"):
        assert "touch" not in script.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "out"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tables"]


# ------------------------------------------------------------- compiled functions

_COMPILED = """
import warnings
warnings.simplefilter("always")
import sys; sys.path.insert(0, {folder!r})
import made
print(made.double(4))
"""
_MADE = "from relfit.base.numeric.compiled import njit\n@njit(nogil=True)\ndef double(x):\n    return 2 * x\n"


def run(folder: Path, cache: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    code = _COMPILED.format(folder=str(folder))
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


@pytest.mark.slow
@pytest.mark.long
def test_a_damaged_cache_is_written_anew(tmp_path):
    (tmp_path / "made.py").write_text(_MADE)
    cache = tmp_path / "cache"
    assert run(tmp_path, str(cache)).stdout == "8\n"
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(path.read_bytes()[:40])
    second = run(tmp_path, str(cache))
    assert second.stdout == "8\n"
    assert second.stderr.count("RuntimeWarning: the cache") == 1
    third = run(tmp_path, str(cache))
    assert (third.stdout, third.stderr) == ("8\n", "")


@pytest.mark.slow
def test_without_a_folder_for_the_cache_functions_are_compiled(tmp_path):
    (tmp_path / "made.py").write_text(_MADE)
    (tmp_path / "file").write_text("")
    done = run(tmp_path, str(tmp_path / "file" / "cache"))
    assert done.stdout == "8\n"
    assert done.stderr.count("RuntimeWarning") <= 1


_NOWHERE = """
import importlib, pkgutil, warnings
import numba.core.caching as caching
for kind in vars(caching).values():
    if hasattr(kind, "_locator_classes"):
        kind._locator_classes = []  # as with a package that may only be read and no home: numba finds no folder
import relfit
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for module in pkgutil.walk_packages(relfit.__path__, "relfit."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
# pandas 2 itself uses what numpy 2.5 deprecates
print([str(one.message)[:33] for one in said if not issubclass(one.category, DeprecationWarning)])
"""


@pytest.mark.slow
@pytest.mark.long
def test_every_module_loads_where_nothing_can_be_kept():
    done = subprocess.run([sys.executable, "-c", _NOWHERE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['compiled functions cannot be kept']\n"


@pytest.mark.slow
def test_killed_and_crowded_writers_break_nothing_and_leave_nothing():
    script = Path(__file__).parents[2] / "benchmarks" / "stress_writing.py"
    command = [sys.executable, str(script), "--kills", "5", "--accesses", "200"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'whole': 5" in done.stdout
    assert done.stdout.endswith("left behind: nothing\n")
