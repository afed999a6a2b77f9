"""Public data sets from a server of our own that also fails, stalls, truncates and lies."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.datasets import fetching

pytest.importorskip("pooch")
FILES = {
    "reliability/LA-UR-05-7318-failure-data-1996-2005.csv.xz": "lanl-failures-1996-2005.csv.xz",
    **{f"hardware/grid5k-fail/{name}.tab.xz": f"grid5000-fta/{name}.tab.xz"
       for name in ("event_trace", "component", "node", "platform")},
}  # fmt: skip


class Server(BaseHTTPRequestHandler):
    behaviour: ClassVar[str] = "good"
    asked: ClassVar[list[str]] = []
    files: ClassVar[dict[str, Path]] = {}
    done: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        Server.asked.append(self.path)
        if Server.behaviour == "fail" or (Server.behaviour == "once" and len(Server.asked) == 1):
            self.send_error(503)
            return
        body = Server.files[self.path.lstrip("/")].read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if Server.behaviour == "stall":
            self.wfile.write(body[:100])
            self.wfile.flush()
            Server.done.wait(20)
        elif Server.behaviour == "truncate":
            self.wfile.write(body[: len(body) // 2])
        elif Server.behaviour == "lie":
            self.wfile.write(b"x" * len(body))
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def mirror(shared: Path) -> Iterator[str]:
    Server.files = {name: shared / "data" / file for name, file in FILES.items()}
    Server.asked, Server.behaviour, Server.done = [], "good", threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Server.done.set()
    server.shutdown()
    server.server_close()


def test_a_file_is_fetched_once_and_read(mirror, tmp_path):
    log = rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror, progress=True)
    assert (log.source.format, log.source.rows_read) == ("lanl", 23_739)
    rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror)
    assert len(Server.asked) == 1


def test_a_damaged_cache_is_fetched_again(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("RELFIT_DATA", str(tmp_path))
    rf.datasets.fetch("lanl", mirror=mirror)
    (kept,) = tmp_path.rglob("*.xz")
    kept.write_bytes(b"damaged")
    assert len(rf.datasets.fetch("lanl", mirror=mirror)) > 20_000
    assert len(Server.asked) == 2


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [("fail", "answers 503"), ("stall", "does not answer|cut short|no connection"),
     ("truncate", "cut short|not the file"), ("lie", "not the file that is expected")],
)  # fmt: skip
def test_what_goes_wrong_is_said_and_leaves_nothing_behind(mirror, tmp_path, behaviour, message):
    Server.behaviour = behaviour
    with pytest.raises(rf.ReadError, match=message) as error:
        rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror, timeout=0.5)
    assert "put the file at" in error.value.remedy
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_one_failure_is_tried_again(mirror, tmp_path):
    Server.behaviour = "once"
    assert len(rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror)) > 20_000


def test_all_files_of_a_trace_are_fetched(mirror, tmp_path):
    log = rf.datasets.fetch("grid5000", cache=tmp_path, mirror=mirror)
    assert log.n_nodes == 1288
    assert len(Server.asked) == 4


def test_without_network_the_message_is_clear(tmp_path):
    with pytest.raises(rf.ReadError, match="no connection"):
        rf.datasets.fetch("titan", cache=tmp_path, mirror="http://127.0.0.1:9")
    with pytest.raises(rf.ArgumentError, match="did you mean 'titan'"):
        rf.datasets.fetch("titna")


@pytest.mark.slow
def test_on_the_command_line(mirror, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RELFIT_DATA", str(tmp_path / "cache"))
    assert main(["info", "lanl"]) == 2
    assert "get it first with: relfit fetch lanl" in capsys.readouterr().err
    assert main(["fetch", "lanl", "--mirror", mirror, "-o", str(tmp_path / "lanl.parquet")]) == 0
    assert "kept at" in capsys.readouterr().out
    assert main(["fetch", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["public"]
    assert [each["fetched"] for each in listed] == [True, False, False]
    assert main(["info", "lanl", "--where", "system=20"]) == 0
    assert len(rf.read(tmp_path / "lanl.parquet")) == len(rf.datasets.fetch("lanl"))
    assert len(Server.asked) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["titna"], "did you mean 'titan'"), (["titan", "--mirror", "http://127.0.0.1:9"], "no connection"),
     (["titan", "--mirror", "nowhere"], "is no address"), (["titan", "--timeout", "0"], "not between 0 and"),
     (["--mirror", "http://127.0.0.1:9"], "goes with NAME")],
)  # fmt: skip
def test_what_the_command_refuses(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.setenv("RELFIT_DATA", str(tmp_path))
    assert main(["fetch", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_without_the_extra_the_message_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert main(["fetch", "titan", "--cache", str(tmp_path)]) == 2
    assert "pip install 'relfit[datasets]'" in capsys.readouterr().err
    assert main(["fetch"]) == 0


def test_the_digests_are_those_of_the_files(shared):
    import hashlib

    known = {name: digest for each in fetching._SETS.values() for name, digest in each.files.items()}
    for name, file in FILES.items():
        assert hashlib.sha256((shared / "data" / file).read_bytes()).hexdigest() == known[name]
