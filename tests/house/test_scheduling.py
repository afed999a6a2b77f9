"""Each process has rooms of its own, until there are none left that nobody has begun."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.scheduling import RoomByRoom, room_of

FILES = {
    "tests/batch/test_a.py": 7,
    "tests/io/test_a.py": 12,
    "tests/batch/test_b.py": 6,
    "tests/io/test_b.py": 6,
    "tests/fitting/test_a.py": 5,
    "relfit/simulation/batch/event_loop.py": 4,
    "docs/batch.md": 3,
}


class Process:
    """Notes what it is sent, and does it one after the other."""

    def __init__(self, name: str) -> None:
        self.gateway, self.shutting_down, self.sent = SimpleNamespace(id=name), False, []

    def send_runtest_some(self, tests: list[int]) -> None:
        self.sent += tests

    def shutdown(self) -> None:
        self.shutting_down = True


def test_rooms_of_files() -> None:
    assert [room_of(file) for file in ("tests/io/test_a.py", "relfit/io/table.py", "relfit/study.py", "README.md")] == [
        "io",
        "io",
        "study.py",
        "README.md",
    ]


def test_a_room_goes_to_one_process() -> None:
    options = SimpleNamespace(loadscopereorder=True, debug=False)
    config: Any = SimpleNamespace(option=options, getvalue=lambda name: ["2*popen"])
    tests = [f"{file}::test_{i}" for file, count in FILES.items() for i in range(count)]
    scheduler, both = RoomByRoom(config), (Process("a"), Process("b"))
    for process in both:
        scheduler.add_node(process)
        scheduler.add_node_collection(process, tests)
    scheduler.schedule()
    done = {process.gateway.id: 0 for process in both}
    while scheduler.has_pending:
        for process in both:  # both are as quick
            if done[process.gateway.id] < len(process.sent):
                scheduler.mark_test_complete(process, process.sent[done[process.gateway.id]])
                done[process.gateway.id] += 1
    files = [list(dict.fromkeys(tests[i].split("::")[0] for i in process.sent)) for process in both]
    assert sum(len(process.sent) for process in both) == len(tests)
    assert files == [  # batch is begun first, though input and output have more tests
        [
            "tests/batch/test_a.py",
            "tests/batch/test_b.py",
            "relfit/simulation/batch/event_loop.py",
            "tests/fitting/test_a.py",
        ],
        ["tests/io/test_a.py", "tests/io/test_b.py", "docs/batch.md"],
    ]
