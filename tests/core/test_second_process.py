"""A second process does what it is asked, and what it cannot do is done all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from relfit.second_process import SecondProcess, later


def _fails(value: int) -> int:
    raise ValueError(f"{value} is wrong")


def test_functions_are_called_elsewhere_and_in_turn() -> None:
    with SecondProcess() as second:
        first, then = second.submit(os.getpid), second.submit(divmod, 7, 2)
        assert first.result() != os.getpid()
        assert then.result() == (3, 1)


def test_what_does_not_go_to_another_process_is_done_here() -> None:
    lock = threading.Lock()
    with SecondProcess() as second:
        assert second.submit(lambda: 5).result() == 5
        assert second.submit(id, lock).result() == id(lock)
        assert second.submit(os.getpid).result() != os.getpid()


def test_what_both_know_is_the_same_object_again() -> None:
    known, other = _Held(threading.Lock()), _Held(5)  # a lock cannot be sent
    with SecondProcess(known) as second:
        assert second.submit(_with_its_process, [known]).result()[0] != os.getpid()
        assert second.submit(_with_its_process, [known]).result()[1][0] is known
        assert second.submit(_with_its_process, other).result()[1] == other


@dataclass
class _Held:
    value: object


def _with_its_process(value: Any) -> tuple[int, Any]:
    return os.getpid(), value


def test_what_has_not_begun_is_done_here() -> None:
    with SecondProcess() as second:
        first, then = later(second, _waits_for, "a"), later(second, os.getpid)
        assert then() == os.getpid()
        assert first() == "a"


def test_an_error_comes_back_as_it_is() -> None:
    with SecondProcess() as second, pytest.raises(ValueError, match="3 is wrong"):
        second.submit(_fails, 3).result()


def test_without_a_second_process_all_is_done_here() -> None:
    with SecondProcess() as second:
        os.kill(second.submit(os.getpid).result(), signal.SIGKILL)
        assert second.submit(os.getpid).result() == os.getpid()
        assert second.submit(divmod, 7, 2).result() == (3, 1)


def _waits_for(name: str) -> str:
    time.sleep(0.2)
    return name


def test_threads_of_this_process_do_no_harm() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with SecondProcess() as second:
            answers = [second.submit(_waits_for, name) for name in "ab"]
            assert [answer.result(timeout=30) for answer in answers] == ["a", "b"]
            assert second.submit(print, "nobody reads this").result(timeout=30) is None
    finally:
        done.set()
        thread.join()


def test_it_goes_when_the_first_one_is_killed(tmp_path: Path) -> None:
    text = (
        "import os, signal; from relfit.second_process import SecondProcess\n"
        "second = SecondProcess(); print(second.submit(os.getpid).result(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, check=False, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    other, until = int(done.stdout), time.monotonic() + 30.0
    while _lives(other) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _lives(other)


def _lives(process: int) -> bool:
    """Whether a process runs; one that nobody has waited for is dead all the same."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_is_left_behind() -> None:
    with SecondProcess() as second:
        process = second.submit(os.getpid).result()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
