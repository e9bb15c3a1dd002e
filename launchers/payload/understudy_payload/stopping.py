"""Two reasons to end early: a request to stop (STOP file, SIGTERM, SIGINT) and a fence.

Both are files that may lie on a network disk, which fails for a moment now and then: `Patience` and `persist` tell that
from a disk that is gone.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

from .errors import DiskFull, Fenced, StorageLost
from .faults import disk_full, disk_lost
from .files import exists

Result = TypeVar("Result")

PATIENCE_SECONDS = 600.0  # of failures without a success in between, until a disk counts as lost
FEWEST_FAILURES = 3  # two looks far apart say little about the time between them
SHORTEST_WAIT, LONGEST_WAIT = 0.2, 10.0  # seconds between two tries
POLL_SECONDS = 5.0  # between looks at the fence at step boundaries
clock, sleep = time.monotonic, time.sleep


class Patience:
    """Counts how long something has failed without a success in between."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._since: float | None = None
        self._failures = 0

    def worked(self) -> None:
        self._since, self._failures = None, 0

    def failed(self, error: OSError) -> None:
        """Note a failure; StorageLost, or DiskFull, when it has been nothing else for PATIENCE_SECONDS."""
        now = clock()
        if self._since is None:
            self._since = now
        self._failures += 1
        seconds = now - self._since
        if self._failures >= FEWEST_FAILURES and seconds >= PATIENCE_SECONDS:
            kind, cannot = (DiskFull, "written") if disk_full(error) else (StorageLost, "reached")
            raise kind(f"{self._what} cannot be {cannot} since {seconds:.0f} s: {error}") from error


def persist(what: str, act: Callable[[], Result], again: Callable[[OSError], bool] = lambda _: True) -> Result:
    """What `act` returns, tried again after an OSError with waits that grow. StorageLost or DiskFull in the end.

    An error that is not to be waited out, as `again` says, is raised at once.
    """
    patience, wait = Patience(what), SHORTEST_WAIT
    while True:
        try:
            return act()
        except OSError as error:
            if not again(error):
                raise
            patience.failed(error)
        sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)


def persist_reading(what: str, read: Callable[[], Result]) -> Result:
    """The same for what others have written: only a disk that fails is waited for, not what is missing or wrong."""
    return persist(what, read, disk_lost)


class StopRequest:
    """Polls for a request to stop. Signals are only noted: work ends at a boundary where everything is saved."""

    def __init__(self, stop_file: Path) -> None:
        self._file = stop_file
        self._patience = Patience(f"the folder of {stop_file}")
        self._signalled = False

    def listen(self) -> StopRequest:
        """Take over SIGTERM and SIGINT; one that arrived while they were blocked is noted at once. Main thread only."""
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            signal.signal(number, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)  # `launch` starts ranks with both blocked
        return self

    def reason(self) -> str | None:
        """`signal`, `stop-file`, or None while work may go on. While the disk fails, the file counts as not there."""
        if self._signalled:
            return "signal"
        try:
            there = exists(self._file)
        except OSError as error:
            self._patience.failed(error)
            return None
        self._patience.worked()
        return "stop-file" if there else None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True


class Fence:
    """Compares the token of the attempt that may write with ours."""

    def __init__(self, path: Path, token: str) -> None:
        self._path = path
        self._token = token
        self._patience = Patience(f"the fence {path}")
        self._looked: float | None = None

    def foreign(self) -> bool:
        """True when the fence file names another attempt. No file means that nobody has fenced this run. One look."""
        try:
            owner = self._path.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return False
        return owner != self._token.strip()

    def broken(self) -> bool:
        """The same, sure of it: waits while the file cannot be read."""
        return persist(f"the fence {self._path}", self.foreign)

    def check(self) -> None:
        """Raise Fenced when another attempt owns the run. Call before each write of results."""
        if self.broken():
            raise Fenced(f"{self._path} names another attempt")

    def poll(self) -> bool:
        """For loops: looks every POLL_SECONDS at most and never waits. False may mean that it is not known now."""
        now = clock()
        if self._looked is not None and now - self._looked < POLL_SECONDS:
            return False
        self._looked = now
        try:
            foreign = self.foreign()
        except OSError as error:
            self._patience.failed(error)
            return False
        self._patience.worked()
        return foreign

