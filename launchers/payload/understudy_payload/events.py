"""events.jsonl: how the control plane sees a job. One JSON object a line, appended by rank 0 alone."""

from __future__ import annotations

import errno
import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import Fenced
from .files import exists
from .stopping import Fence, persist

# A crash of the machine may lose a `step`, but not a fact that a decision is based on.
DURABLE = frozenset({"eval", "checkpoint", "stopped", "finished", "failed"})
NEWEST = 1_000  # lines that are searched for the first failure: ranks fail within moments of each other


class EventLog:
    """Appends events of one attempt. `enabled` False (ranks above 0) makes every write a no-op.

    With a `fence`, each write raises Fenced once another attempt owns the run.
    """

    def __init__(self, path: Path, attempt: int, enabled: bool = True, fence: Fence | None = None) -> None:
        self._path = path
        self._fence = fence
        self._attempt = attempt
        self._enabled = enabled
        if enabled:
            path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, event_type: str, /, **fields: Any) -> None:
        """Append one event, however often the disk fails. Fields must be JSON values; NaN and infinity become null."""
        if self._enabled:
            event = self._event(event_type, fields)
            persist(f"the event log {self._path}", lambda: self._append(event))

    def write_once(self, event_type: str, /, **fields: Any) -> None:
        """The same without waiting: OSError when it cannot be written now."""
        if self._enabled:
            self._append(self._event(event_type, fields))

    def failure(self) -> str | None:
        """The code with which this attempt has `failed` since it started last: whoever failed first knows why."""
        try:
            lines = self._path.read_bytes().splitlines()[-NEWEST:]
        except OSError:
            return None
        for line in reversed(lines):
            event = _parsed(line)
            if event.get("attempt") == self._attempt and event.get("type") in ("started", "failed"):
                return str(event.get("code")) if event["type"] == "failed" else None
        return None

    def checkpoints(self) -> dict[int, str]:
        """`{step: folder name}` of what any attempt has completed. OSError when the log cannot be read."""
        if not exists(self._path):
            return {}
        found = (_parsed(line) for line in self._path.read_bytes().splitlines() if b'"checkpoint"' in line)
        return {
            event["step"]: str(event.get("checkpoint"))
            for event in found
            if event.get("type") == "checkpoint" and isinstance(event.get("step"), int)
        }

    def _event(self, event_type: str, fields: dict[str, Any]) -> dict[str, Any]:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"v": 1, "at": now, "attempt": self._attempt, "type": event_type, **_finite(fields)}

    def _append(self, event: dict[str, Any]) -> None:
        if self._fence is not None and self._fence.foreign():
            raise Fenced(f"another attempt owns this run, so this one writes nothing more (the next would have been: {event['type']})")
        append_line(self._path, event, durable=event["type"] in DURABLE)


def append_line(path: Path, value: dict[str, Any], durable: bool) -> None:
    """Append one JSON line in a single write.

    A torn line that a killed predecessor left is ended first, so that it spoils only itself. A value that is the last line
    already is not written again: the error after which it is tried again came late. OSError when a part was written.
    """
    line = json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        start = max(0, size - len(line))
        tail = os.pread(descriptor, size - start, start)
        if tail != line:
            if tail and not tail.endswith(b"\n"):
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise OSError(errno.ENOSPC, "only a part of the line was written", str(path))
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:  # torn
        return {}
    return value if isinstance(value, dict) else {}


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
