"""Starting ranks: a request to stop that comes while they are being started reaches every one of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import jobs

from understudy_payload import launch as module

NUMBERS = (signal.SIGTERM, signal.SIGINT)
# Takes a while before it listens, as a rank that imports does; 3 once it was asked to stop, 0 if it never was.
RANK = """
import sys, time
from pathlib import Path
from understudy_payload.stopping import StopRequest
time.sleep(0.5)
stop = StopRequest(Path("/nowhere/STOP")).listen()
for _ in range(100):
    if stop.reason():
        sys.exit(3)
    time.sleep(0.05)
"""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What `launch` takes over is given back."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    # so that a signal that nobody waits for fails the test and does not end the tests
    for number in NUMBERS:
        signal.signal(number, lambda *_: None)
    # blocking holds back the thread that blocks; through this one a signal comes at once
    ended = threading.Event()
    threading.Thread(target=ended.wait, daemon=True).start()
    yield
    ended.set()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_between_two_starts_is_lost_to_none(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(manifest: Path, rank: int, processes: int, port: int) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", RANK], env=jobs.environment()))
        if rank == 0:
            os.kill(os.getpid(), number)
        return started[-1]

    monkeypatch.setattr(module, "_start", start)
    assert module.launch(Path("job.json"), 2) == 3
    assert [process.returncode for process in started] == [3, 3]
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(NUMBERS)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([(0.0, 0), (0.0, 0)], 0),
        ([(1.0, 1), (0.0, 69)], 69),
        ([(1.0, 69), (0.0, 1)], 1),
        ([(0.0, 69), (1.0, -signal.SIGABRT)], 69),
        ([(1.0, 2), (0.0, 1)], 2),
        ([(1.0, 75), (0.0, 69)], 75),
        ([(0.0, 3), (0.0, 3)], 3),
    ],
)
def test_who_ended_first_says_why(
    ends: list[tuple[float, int]], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ends`: of each rank, the seconds until it ends and its exit code."""

    def start(manifest: Path, rank: int, processes: int, port: int) -> subprocess.Popen[bytes]:
        seconds, exit_code = ends[rank]
        how = f"import os, time; time.sleep({seconds})\n"
        how += f"os._exit({exit_code})" if exit_code >= 0 else f"os.kill(os.getpid(), {-exit_code})"
        return subprocess.Popen([sys.executable, "-S", "-c", how])

    monkeypatch.setattr(module, "_start", start)
    assert module.launch(Path("job.json"), 2) == code


def test_of_ranks_that_end_in_the_same_moment_the_program_s_own_fault_counts() -> None:
    assert sorted([-6, 69, 1], key=module._telling) == [1, 69, -6]


def test_ranks_never_meet_at_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """29500, where torchrun would go, has no meaning here: any free port below the kernel's own range is as good."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", module._free_port()))
        holder.listen()
        taken = holder.getsockname()[1]

        class First:
            def shuffle(self, ports: list[int]) -> None:
                ports.remove(taken)
                ports.insert(0, taken)

        monkeypatch.setattr(module.random, "SystemRandom", First)
        assert taken != module._free_port() < module._first_ephemeral_port()
