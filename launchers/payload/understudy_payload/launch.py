"""Several ranks on one machine with the exit codes of CONTRACT.md. torchrun works too, but turns every code into 1."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from .errors import UNFIT

# Ranks end together; one that has not followed by then hangs in a collective that will never complete.
GRACE_SECONDS = 60.0
FORWARDED = (signal.SIGTERM, signal.SIGINT)


def launch(manifest: Path, processes: int) -> int:
    """Run `train` in this many processes and return the code that says most about why they ended."""
    port = _free_port()
    # Only noted, and forwarded once all ranks are there: a signal while they are being started must miss none of them.
    asked: list[int] = []
    for number in FORWARDED:
        signal.signal(number, lambda number, frame: asked.append(number))
    # Ranks inherit the block: a signal must not kill one that is still importing. A job lifts it when it listens.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    try:
        ranks = [_start(manifest, rank, processes, port) for rank in range(processes)]
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    return _verdict(_wait(ranks, asked))


def _start(manifest: Path, rank: int, processes: int, port: int) -> subprocess.Popen[bytes]:
    world = {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes), "LOCAL_WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip
    environment = {"OMP_NUM_THREADS": "1", **os.environ, **world}
    command = [sys.executable, "-m", __package__ or "understudy_payload", "train", "--manifest", str(manifest)]
    return subprocess.Popen(command, env=environment)


def _wait(ranks: list[subprocess.Popen[bytes]], asked: list[int]) -> list[int]:
    """Exit codes of the ranks in the order of their ends; what is noted in `asked` goes to those that run."""
    deadline = None
    codes: list[int] = []
    running = ranks
    while running:
        ended = [process.returncode for process in running if process.poll() is not None]
        codes.extend(sorted(ended, key=_telling))
        running = [process for process in running if process.returncode is None]
        while asked:
            number = asked.pop(0)
            for process in running:
                process.send_signal(number)
        if deadline is None and any(process.returncode for process in ranks):
            deadline = time.monotonic() + GRACE_SECONDS
        if deadline is not None and time.monotonic() > deadline:
            for process in running:
                process.kill()
        if running:
            time.sleep(0.1)
    return codes


def _telling(code: int) -> int:
    """Sorts ends of the same moment: peers of a crashed rank see a lost device, or are killed."""
    return 0 if code > 0 and code != UNFIT else 1 if code == UNFIT else 2


def _verdict(codes: list[int]) -> int:
    """`codes` in the order of their ends: the first rank that crashed took the others along."""
    for known in (75, 2):
        if known in codes:
            return known
    crashed = [code for code in codes if code not in (0, 3)]
    if crashed:
        # death by signal N is negative here; shells call it 128 + N
        return crashed[0] if crashed[0] > 0 else 128 - crashed[0]
    return 3 if 3 in codes else 0


def _free_port() -> int:
    """A port that nobody has, below those that the kernel gives to outgoing connections.

    Rank 0 listens only after its imports, a minute later on a busy machine: of the kernel's own range somebody would have
    taken it by then.
    """
    top = _first_ephemeral_port()
    ports = list(range(10_000 if top > 12_000 else 1_024, top))
    random.SystemRandom().shuffle(ports)  # several jobs that start at once must not agree
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"there is no free port below {top} on this machine")


def _first_ephemeral_port() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 32_768
