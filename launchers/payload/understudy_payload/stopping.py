"""Two reasons to end early: a request to stop (STOP file, SIGTERM, SIGINT) and a fence."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType

from .errors import Fenced


class StopRequest:
    """Polls for a request to stop. Signals are only noted: work ends at a boundary where everything is saved."""

    def __init__(self, stop_file: Path) -> None:
        self._file = stop_file
        self._signalled = False

    def listen(self) -> StopRequest:
        """Take over SIGTERM and SIGINT; one that arrived while they were blocked is noted at once. Main thread only."""
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            signal.signal(number, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)  # `launch` starts ranks with both blocked
        return self

    def reason(self) -> str | None:
        """`signal`, `stop-file`, or None while work may go on."""
        if self._signalled:
            return "signal"
        return "stop-file" if self._file.exists() else None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True


class Fence:
    """Compares the token of the attempt that may write with ours."""

    def __init__(self, path: Path, token: str) -> None:
        self._path = path
        self._token = token

    def broken(self) -> bool:
        """True when the fence file names another attempt. No file means that nobody has fenced this run."""
        try:
            owner = self._path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return False
        return owner != self._token.strip()

    def check(self) -> None:
        """Raise Fenced when another attempt owns the run. Call before each write of results."""
        if self.broken():
            raise Fenced(f"{self._path} names another attempt")
