"""Public data sets from a server of our own that also fails, stalls, truncates and lies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import relfit as rf
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


def test_the_digests_are_those_of_the_files(shared):
    import hashlib

    known = {name: digest for each in fetching._SETS.values() for name, digest in each.files.items()}
    for name, file in FILES.items():
        assert hashlib.sha256((shared / "data" / file).read_bytes()).hexdigest() == known[name]
