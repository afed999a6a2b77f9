"""A second process does what it is asked, and what it cannot do is done all the same."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from relfit.second_process import SecondProcess


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


def test_an_error_comes_back_as_it_is() -> None:
    with SecondProcess() as second, pytest.raises(ValueError, match="3 is wrong"):
        second.submit(_fails, 3).result()


@pytest.mark.parametrize("modules", [(), ("no_such_module_anywhere",)])
def test_without_a_second_process_all_is_done_here(modules: tuple[str, ...]) -> None:
    with SecondProcess(*modules) as second:
        if not modules:
            os.kill(second.submit(os.getpid).result(), signal.SIGKILL)
        assert second.submit(os.getpid).result() == os.getpid()
        assert second.submit(divmod, 7, 2).result() == (3, 1)


def test_nothing_is_left_behind() -> None:
    with SecondProcess() as second:
        process = second.submit(os.getpid).result()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
