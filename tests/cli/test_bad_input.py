"""Every mistake gives one clear line and exit code 2, or a result that says what was rejected."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from relfit.cli.app import main
from tests.cli.conftest import HEADER, ROWS, relfit

TABLE = "\n".join([HEADER, *ROWS]) + "\n"


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a wrong command prints; nothing on stdout, no file left, exit code 2."""
    before = sorted(Path().iterdir())
    code = main([str(a) for a in arguments])
    caught = capsys.readouterr()
    assert (code, caught.out) == (2, "")
    assert caught.err.startswith("relfit: error: ")
    assert caught.err.count("\n") == 1
    assert len(caught.err) < 1100
    assert sorted(Path().iterdir()) == before
    return caught.err


# ------------------------------------------------------------------------ files


def test_missing_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = complaint(capsys, "fit", "absent.csv")
    assert "absent.csv: no such file" in message
    assert "white" in message


FILES: dict[str, bytes] = {
    "empty.csv": b"",
    "blank.csv": b"\n\n\n",
    "junk.bin": bytes(range(256)) * 64,
    "zeros.csv": bytes(4096),
    "truncated.csv.gz": gzip.compress(TABLE.encode() * 20)[:-400],
    "not_a.csv.gz": b"this is no gzip file",
    "long_line.csv": b"x" * 10_000_000,
    "prose.txt": b"It was a dark and stormy night.\nThe node went down.\n",
    "header.csv": HEADER.encode() + b"\n",
    "half.parquet": b"PAR1" + bytes(100),
    "other.json": b'{"a": 1}',
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["info", "fit", "report"])
def test_files_that_are_no_log(here: Path, capsys: pytest.CaptureFixture[str], name: str, command: str) -> None:
    Path(name).write_bytes(FILES[name])
    assert name in complaint(capsys, command, name)


@pytest.mark.parametrize("form", ["lanl", "fta", "titan", "relfit"])
def test_the_wrong_format(log_file: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert "log.csv" in complaint(capsys, "info", log_file.name, "--format", form)


def test_an_unknown_format(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = complaint(capsys, "info", log_file, "--format", "lnal")
    assert "lnal" in message
    assert "lanl" in message


def test_an_empty_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    assert "folder" in complaint(capsys, "info", "folder")


def test_a_broken_mapping(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.toml").write_text("[columns\nnode = ")
    assert "bad.toml" in complaint(capsys, "info", log_file, "--mapping", "bad.toml")
    assert "absent.toml" in complaint(capsys, "info", log_file, "--mapping", "absent.toml")


# ------------------------------------------------------------------------- rows

BAD_ROWS = {
    "impossible date": "20,1,2003-02-30 00:00,2003-03-02 00:00,hardware,r1",
    "no date": "20,1,soon,later,hardware,r1",
    "end before start": "20,1,2003-05-05 10:00,2003-05-05 09:00,hardware,r1",
    "NaN": "20,1,NaN,NaN,hardware,r1",
    "infinite": "20,1,inf,inf,hardware,r1",
    "far future": "20,1,99999-01-01,99999-01-02,hardware,r1",
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_rows_that_cannot_be_used_are_counted(log_file: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    with log_file.open("a") as file:
        file.write(BAD_ROWS[name] + "\n")
    assert main(["info", str(log_file)]) == 0
    caught = capsys.readouterr()
    assert "49 read = 48 kept + 1 rejected" in caught.out
    assert "line 50" in caught.out
    assert "line 50" in complaint(capsys, "fit", log_file, "--strict", "--out", "fits.csv")


@pytest.mark.parametrize("value", ["-3", "NaN", "inf", "-inf", "long"])
def test_durations_that_cannot_be(here: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    rows = [f"{node},{duration},True" for node, duration in enumerate([5, 8, 13, value])]
    Path("lives.csv").write_text("\n".join(["node,duration,observed", *rows]) + "\n")
    assert main(["info", "lives.csv"]) == 0
    text = capsys.readouterr().out
    assert "4 read = 3 kept + 1 rejected" in text
    assert "line 5" in text
    assert "line 5" in complaint(capsys, "info", "lives.csv", "--strict")


@pytest.mark.slow
@pytest.mark.long
def test_duplicates_and_mixed_encodings(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with log_file.open("ab") as file:
        file.write(ROWS[0].encode() + b"\n")
        file.write("20,1,2003-12-30 00:00,2003-12-30 01:00,kühl,r1\n".encode("latin-1"))
    assert main(["info", str(log_file)]) == 0
    assert "50 read = " in capsys.readouterr().out
    assert main(["fit", str(log_file)]) == 0


def test_one_node_with_one_failure(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.csv").write_text(f"{HEADER}\n{ROWS[0]}\n")
    assert main(["fit", "one.csv", "--out", "fits.csv", "--details"]) == 0
    assert "weibull: " in capsys.readouterr().out
    assert Path("fits.csv").exists()


def test_no_failure_at_all(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("quiet.csv").write_text("node,duration,observed\na,10,False\nb,20,False\n")
    assert main(["fit", "quiet.csv", "--details"]) == 0
    text = capsys.readouterr().out
    assert "No failure in 30 h: an exponential has a mean above 8.13 h" in text  # all units together
    assert "all_censored" in text
    assert main(["report", "quiet.csv"]) == 0
    assert Path("report.html").exists()


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--where", "colour=red"], ["no column 'colour'", "system"]),
        (["--where", "system"], ["--where", "NAME=VALUE"]),
        (["--where", "=20"], ["--where"]),
        (["--where", "system=21"], ["system='21'", "its values are"]),
        (["--per", "colour"], ["no column 'colour'", "cause"]),
        (["--since", "2003-02-30"], ["2003-02-30", "not a date"]),
        (["--until", "whenever"], ["whenever", "not a date"]),
        (["--since", "2005-01-01"], ["nothing was observed from 2005-01-01;", "2003"]),
        (["--since", "2003-06-01", "--until", "2003-05-01"], ["nothing was observed"]),
        (["--families", "weibul"], ["weibul", "did you mean weibull"]),
        (["--families", ","], ["--families is empty"]),
        (["--measure", "tff"], ["tff", "ttf or ttr"]),
        (["--level", "95"], ["95", "did you mean 0.95"]),
        (["--level", "nan"], ["nan"]),
        (["--level", "high"], ["--level"]),
        (["--interval", "quantile"], ["write quantile@0.1"]),
        (["--interval", "B10"], ["write quantile@0.1"]),
        (["--interval", "reliability"], ["write reliability@24h"]),
        (["--timezone", "Mars/Olympus"], ["Mars/Olympus"]),
        (["--column", "node"], ["--column", "NAME=VALUE"]),
        (["--column", "strict=yes"], ["write --strict"]),
        (["--column", "node=hostname"], ["hostname"]),
        (["--familes", "gamma"], ["--familes"]),
        (["--out", "fits.txt"], [".csv or .parquet or .json"]),
        (["--out", "fits"], [".csv or .parquet or .json"]),
        (["--out", "absent/fits.csv"], ["no folder absent"]),
    ],
)
def test_wrong_options_of_fit(
    log_file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    message = complaint(capsys, "fit", log_file, *arguments)
    for word in words:
        assert word in message


def test_wrong_commands(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "LOG" in complaint(capsys, "fit")
    assert "fti" in complaint(capsys, "fti", "white")
    assert "whyte" in complaint(capsys, "data", "whyte")
    assert "--format" in complaint(capsys, "info", "white", "--format", "table")


def test_report_goes_to_html_only(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ".html" in complaint(capsys, "report", log_file, "-o", "report.pdf")


def test_a_folder_in_the_way(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("fits.csv").mkdir()
    assert "is a folder" in complaint(capsys, "fit", log_file, "--out", "fits.csv")


def test_a_folder_that_cannot_be_written_to(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("locked")
    folder.mkdir()
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):  # a superuser writes anywhere but in /proc
        folder = Path("/proc")
    assert "cannot write" in complaint(capsys, "fit", log_file, "--out", folder / "fits.csv")


def test_options_are_checked_before_the_log_is_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--out", "fits.txt"], ["--families", "weibul"], ["--level", "7"], ["--since", "whenever"]):
        assert "no such file" not in complaint(capsys, "fit", "absent.csv", *arguments)


def test_an_earlier_result_survives_a_failure(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("fits.csv").write_text("precious\n")
    complaint(capsys, "fit", log_file, "--per", "colour", "--out", "fits.csv")
    assert Path("fits.csv").read_text() == "precious\n"


@pytest.mark.slow
@pytest.mark.long
def test_the_same_from_a_shell(here: Path) -> None:
    done = relfit("fit", "absent.csv", "--json", cwd=here)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("relfit: error: absent.csv: no such file")
    assert "Traceback" not in done.err
