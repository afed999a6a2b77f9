"""Lines of syslog and journals that stand in two files count once; a line twice in one file counts twice."""

from __future__ import annotations

import gzip
import json

import pytest

import relfit as rf

DAYS = {
    1: ["Oct  1 10:00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): 79, GPU has fallen off the bus"] * 2,
    2: ["Oct  2 10:00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): 79, GPU has fallen off the bus"],
    3: [
        "Oct  3 10:00:00 n2 kernel: NVRM: Xid (PCI:0000:07:00): 79, GPU has fallen off the bus",
        "Oct  3 10:00:00 n3 kernel: NVRM: Xid (PCI:0000:07:00): 79, GPU has fallen off the bus",
    ],
}
ENTRY = {"_HOSTNAME": "n1", "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": "NVRM: Xid (PCI:0000:07:00): 79, lost"}


@pytest.fixture
def log(tmp_path) -> rf.FailureLog:
    """Two files with days 1 and 2, and 2 and 3: five lines, of which the overlap has one."""
    for name, days in (("a.log", (1, 2)), ("b.log", (2, 3))):
        (tmp_path / name).write_text("\n".join(line for day in days for line in DAYS[day]) + "\n")
    return rf.read(tmp_path, year=2024)


def test_a_day_in_two_files_counts_once(log):
    assert log.events["node"].astype(str).tolist() == ["n1", "n1", "n1", "n2", "n3"]
    assert log.events["line"].tolist() == [1, 2, 3, 2, 3]
    assert (log.source.rows_read, log.source.rows_kept) == (6, 6)
    (note,) = (note for note in log.source.notes if "counted once" in note)
    assert note == "1 line stands in an earlier file, too (same time, node and text); counted once"


def test_a_file_beside_its_compressed_copy_counts_once(tmp_path):
    text = "\n".join(line for lines in DAYS.values() for line in lines) + "\n"
    (tmp_path / "messages").write_text(text)
    (tmp_path / "messages.gz").write_bytes(gzip.compress(text.encode()))
    log = rf.read(tmp_path, year=2024)
    assert len(log) == 5
    assert any(note.startswith("5 lines stand in an earlier file, too") for note in log.source.notes)


def test_entries_of_a_journal_that_two_exports_have_count_once(tmp_path):
    stamps = [1_704_067_200_000_000 + 1_000_000 * second for second in (0, 60, 120)]
    lines = [json.dumps({"__REALTIME_TIMESTAMP": str(stamp), **ENTRY}) for stamp in stamps]
    for name, part in (("a.json", lines[:2]), ("b.json", lines[1:])):
        (tmp_path / name).write_text("\n".join(part) + "\n")
    assert len(rf.read(tmp_path)) == 3
