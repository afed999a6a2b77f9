"""Public data sets from a server of our own that also fails, stalls, truncates and lies."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.io.datasets.catalogue import CATALOGUE
from tests.site_logs import site_log

pytest.importorskip("pooch")
FILES = {
    "reliability/LA-UR-05-7318-failure-data-1996-2005.csv.xz": "lanl-failures-1996-2005.csv.xz",
    **{
        f"hardware/grid5k-fail/{name}.tab.xz": f"grid5000-fta/{name}.tab.xz"
        for name in ("event_trace", "component", "node", "platform")
    },
}


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


@pytest.mark.slow
def test_a_file_is_fetched_once_and_read(mirror, tmp_path):
    log = rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror, progress=True)
    assert (log.source.format, log.source.rows_read) == ("lanl", 23_739)
    rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror)
    assert len(Server.asked) == 1


@pytest.mark.slow
def test_a_damaged_cache_is_fetched_again(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("RELFIT_DATA", str(tmp_path))
    rf.datasets.fetch("lanl", mirror=mirror)
    (kept,) = tmp_path.rglob("*.xz")
    kept.write_bytes(b"damaged")
    assert len(rf.datasets.fetch("lanl", mirror=mirror)) > 20_000
    assert len(Server.asked) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("fail", "answers 503"),
        ("stall", "does not answer|cut short|no connection"),
        ("truncate", "cut short|not the file"),
        ("lie", "not the expected file"),
    ],
)
def test_what_goes_wrong_is_said_and_leaves_nothing_behind(mirror, tmp_path, behaviour, message):
    Server.behaviour = behaviour
    with pytest.raises(rf.ReadError, match=message) as error:
        rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror, timeout=0.5)
    assert "put the file at" in error.value.remedy
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_one_failure_is_tried_again(mirror, tmp_path):
    Server.behaviour = "once"
    assert len(rf.datasets.fetch("lanl", cache=tmp_path, mirror=mirror)) > 20_000


@pytest.mark.slow
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
@pytest.mark.long
def test_on_the_command_line(mirror, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RELFIT_DATA", str(tmp_path / "cache"))
    assert main(["info", "lanl"]) == 2
    assert "get it first with: relfit fetch lanl" in capsys.readouterr().err
    assert main(["fetch", "lanl", "--mirror", mirror, "-o", str(tmp_path / "lanl.parquet")]) == 0
    assert "kept at" in capsys.readouterr().out
    assert main(["fetch", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["public"]
    assert [each["fetched"] for each in listed] == [True] + 6 * [False]
    assert main(["info", "lanl", "--where", "system=20"]) == 0
    assert len(rf.read(tmp_path / "lanl.parquet")) == len(site_log("lanl"))
    assert len(Server.asked) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["titna"], "did you mean 'titan'"),
        (["titan", "--mirror", "http://127.0.0.1:9"], "no connection"),
        (["titan", "--mirror", "nowhere"], "is not an address"),
        (["titan", "--timeout", "0"], "not between 0 and"),
        (["--mirror", "http://127.0.0.1:9"], "goes with NAME"),
    ],
)
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

    known = {name: digest for each in CATALOGUE.values() for name, digest in each.files.items()}
    for name, file in FILES.items():
        assert hashlib.sha256((shared / "data" / file).read_bytes()).hexdigest() == known[name]


SACCT = "JobID,Submit,Start,End,Elapsed,Timelimit,NNodes,State\n"


def records(year: int) -> bytes:
    """Two jobs of one and 57 nodes in the layout of one of the releases of Los Alamos."""
    if year == 2022:
        text = SACCT + (
            "1,2022-01-03T10:00:00,2022-01-03T10:05:00,2022-01-03T11:05:00,01:00:00,02:00:00,57,COMPLETED\n"
            "1.batch,2022-01-03T10:05:00,2022-01-03T10:05:00,2022-01-03T11:05:00,01:00:00,,1,COMPLETED\n"
            "2,2022-01-03T10:00:10,2022-01-03T10:06:00,2022-01-03T10:06:30,00:00:30,16:00:00,1,TIMEOUT\n"
        )
        return text.encode()
    first = {
        "account_name": "account_name_19",
        "calc_wallclock": "29610360",
        "cluster": "grizzly",
        "end_state": "COMPLETED",
        "end_time": "2018-01-31 10:45:53",
        "jobid": "15040144",
        "num_procs_exe": "2052",
        "req_nodes": "57",
        "start_time": "2018-01-31 09:45:53",
        "submit_time": "2018-01-31 09:30:37",
        "user_name": "user_name_60",
        "wallclock_limit": "7200",
    }
    second = {
        **first,
        "jobid": "15040145",
        "req_nodes": "1",
        "submit_time": "2018-01-31 09:30:47",
        "end_time": "2018-01-31 09:46:23",
        "wallclock_limit": "57600",
    }
    return str([first, second]).replace(", ", ",\n\t").encode()


def job_files(folder: Path) -> dict[str, Path]:
    """Records made for the layouts, packed as the releases are."""
    packed = {"grizzly2018": gzip.compress(records(2018))}
    for name, nodes, processors in (("lanl-cm5", 1024, 1024), ("sdsc-blue", 144, 1152)):
        line = "{} {} 5 {} {} -1 -1 {} {} -1 1 3 1 1 1 -1 -1 -1\n"
        jobs = line.format(1, 0, 3600, 64, 64, 7200) + line.format(2, 10, 30, 32, 32, 57600)
        packed[name] = gzip.compress(f"; MaxNodes: {nodes}\n; MaxProcs: {processors}\n{jobs}".encode())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as files:
        for ending in ("csv", "txt"):
            member = tarfile.TarInfo(f"gr-slurm/sacct.out.grizzly.no-identifiers.{ending}")
            member.size = len(records(2022))
            files.addfile(member, io.BytesIO(records(2022)))
    packed["grizzly2022"] = archive.getvalue()
    for name, data in packed.items():
        (folder / f"{name}.served").write_bytes(data)
    return {next(iter(CATALOGUE[name].files)): folder / f"{name}.served" for name in packed}


@pytest.mark.parametrize(
    ("name", "n_nodes", "nodes"),
    [
        ("grizzly2018", 1490, [57, 1]),
        ("grizzly2022", 1490, [57, 1]),
        ("lanl-cm5", 1024, [64, 32]),
        ("sdsc-blue", 1152, [64, 32]),
    ],
)
def test_lists_of_jobs_in_their_layouts(mirror, tmp_path, monkeypatch, capsys, name, n_nodes, nodes):
    monkeypatch.setenv("RELFIT_DATA", str(tmp_path / "cache"))
    Server.files = job_files(tmp_path)
    with pytest.raises(rf.ReadError, match="no such file") as error:
        rf.read_workload(name)
    assert error.value.remedy == f"get it first with: relfit fetch {name}"
    assert main(["fetch", name, "--mirror", mirror, "-o", str(tmp_path / "jobs.csv")]) == 0
    assert "2 jobs of " in capsys.readouterr().out
    jobs = rf.read_workload(name)
    assert jobs.n_nodes == n_nodes
    assert jobs.nodes.tolist() == nodes
    assert jobs.submit.tolist() == [0.0, 10.0]
    assert jobs.run_time.tolist() == [3600.0, 30.0]
    assert jobs.requested.tolist() == [7200.0, 57600.0]
    config = tmp_path / "cluster.toml"
    config.write_text(f'[workload]\nfile = "{name}"\n')
    assert rf.batch.read_batch_config(config).read_jobs().nodes.tolist() == nodes
    with pytest.raises(rf.ArgumentError, match="timezone= does not go with"):
        rf.read_workload(name, timezone="UTC")
    assert main(["info", name]) == 2
    assert "is a list of jobs, not a failure log" in capsys.readouterr().err
    assert len(Server.asked) == 1


def test_without_a_published_checksum_the_first_copy_is_the_measure(mirror, tmp_path):
    Server.files = job_files(tmp_path)
    cache = tmp_path / "cache"
    rf.datasets.fetch("lanl-cm5", cache=cache, mirror=mirror)
    (kept,) = cache.rglob("*.swf.gz")
    good = kept.read_bytes()
    kept.write_bytes(b"damaged")
    rf.datasets.fetch("lanl-cm5", cache=cache, mirror=mirror)
    assert kept.read_bytes() == good
    kept.unlink()
    Server.behaviour = "lie"
    with pytest.raises(rf.ReadError, match="not the expected file"):
        rf.datasets.fetch("lanl-cm5", cache=cache, mirror=mirror)


def test_an_archive_without_its_table(mirror, tmp_path):
    Server.files = job_files(tmp_path)
    archive = Server.files[next(iter(CATALOGUE["grizzly2022"].files))]
    archive.write_bytes(b"not an archive")
    with pytest.raises(rf.ReadError, match="cannot be unpacked"):
        rf.datasets.fetch("grizzly2022", cache=tmp_path / "cache", mirror=mirror)
