"""`--where`: which part of a log commands take, and what they say of it."""

from __future__ import annotations

import pytest

from relfit.cli.app import main


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_value_is_excluded(capsys, log_file) -> None:
    assert main(["info", str(log_file), "--where", "cause!=hardware"]) == 0
    text = shown(capsys)
    assert "24 records" in text
    assert "24 events not selected (without cause hardware)" in text
    both = ["--where", "cause!=hardware", "--where", "cause!=software", "--where", "system!=9"]
    with log_file.open("a") as lines:  # a record without a cause stays, unless it is excluded too
        lines.write("20,1,2003-12-30 00:00,2003-12-30 01:00,,r1\n20,2,2003-12-30 02:00,2003-12-30 03:00,disk,r0\n")
    assert main(["info", str(log_file), *both]) == 0
    assert shown(capsys).startswith("2 records")
    assert main(["info", str(log_file), *both, "--where", "cause!="]) == 0
    assert shown(capsys).startswith("1 record")
    assert main(["info", str(log_file), "--where", "!=x"]) == 2
    assert "--where names no column" in capsys.readouterr().err
