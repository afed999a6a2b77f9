"""Real programs, each test file's own: started on free ports by tools/live.sh, stopped when the tests are done."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "live.sh"
NEEDED = {
    "slurm": ("slurmctld", "slurmdbd", "sacctmgr", "munged", "mariadbd"),
    "prometheus": ("prometheus", "promtool"),
    "exporter": ("prometheus-node-exporter",),
    "alertmanager": ("prometheus-alertmanager",),
    "postgres": (),
}
"""Programs of each part; Debian keeps those of PostgreSQL out of the path."""


@pytest.fixture(scope="session")
def live() -> Iterator[Callable[..., dict[str, str]]]:
    """Starts parts with settings in the environment: what ``live.env`` says, `LIVE_FOLDER` too."""
    folders = []

    def up(*parts: str, **settings: str) -> dict[str, str]:
        missing = [name for part in parts for name in NEEDED[part] if shutil.which(name) is None]
        if "postgres" in parts and not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
            missing.append("postgres")
        if missing or os.geteuid():
            pytest.skip(f"root and {', '.join(missing)} are needed: tools/live.sh install" if missing else "needs root")
        folder = Path(tempfile.mkdtemp(prefix="relfit-live-"))
        folders.append(folder)
        subprocess.run([SCRIPT, "up", folder, *parts], check=True, env={**os.environ, **settings}, timeout=120)
        lines = (folder / "live.env").read_text().splitlines()
        words = [shlex.split(line)[1].partition("=") for line in lines]
        return {"LIVE_FOLDER": str(folder), **{name: value for name, _, value in words}}

    yield up
    for folder in folders:
        subprocess.run([SCRIPT, "down", folder], check=True, timeout=120)
        shutil.rmtree(folder, ignore_errors=True)


class SilentLine(socketserver.BaseRequestHandler):
    """Hands on what a client and a server say, until the client says a word; from then on nothing comes back."""

    server: SilentServer

    def handle(self) -> None:
        with socket.create_connection(self.server.behind) as behind:
            lines = {self.request: behind, behind: self.request}
            while True:
                for line in select.select(list(lines), [], [])[0]:
                    said = line.recv(65_536)
                    if not said:
                        return
                    if self.server.word in said:
                        self.server.ended.wait(60.0)
                        return
                    lines[line].sendall(said)


class SilentServer(socketserver.ThreadingTCPServer):
    """Stands before the server at `behind`."""

    daemon_threads = True

    def __init__(self, behind: tuple[str, int], word: bytes) -> None:
        super().__init__(("127.0.0.1", 0), SilentLine)
        self.behind, self.word, self.ended = behind, word, threading.Event()


@pytest.fixture
def falling_silent() -> Iterator[Callable[[str, bytes], str]]:
    """The URL of a database behind a network that loses what follows a word."""
    servers = []

    def before(url: str, word: bytes) -> str:
        host, port = re.search(r"@([\d.]+):(\d+)", url).groups()
        servers.append(SilentServer((host, int(port)), word))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return url.replace(f":{port}/", f":{servers[-1].server_address[1]}/")

    yield before
    for server in servers:
        server.ended.set()
        server.shutdown()
        server.server_close()
