"""events.jsonl: how the control plane sees a job. One JSON object a line, appended by rank 0 alone."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

# A crash of the machine may lose a `step`, but not a fact that a decision is based on.
DURABLE = frozenset({"eval", "checkpoint", "stopped", "finished", "failed"})


class EventLog:
    """Appends events of one attempt. `enabled` False (ranks above 0) makes every write a no-op."""

    def __init__(self, path: Path, attempt: int, enabled: bool = True) -> None:
        self._path = path
        self._attempt = attempt
        self._enabled = enabled
        if enabled:
            path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, event_type: str, /, **fields: Any) -> None:
        """Append one event. Fields must be JSON values; NaN and infinity become null."""
        if not self._enabled:
            return
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        event = {"v": 1, "at": now, "attempt": self._attempt, "type": event_type, **_finite(fields)}
        append_line(self._path, event, durable=event_type in DURABLE)


def append_line(path: Path, value: dict[str, Any], durable: bool) -> None:
    """Append one JSON line in a single write.

    A torn line that a killed predecessor left is ended first, so that it spoils only itself.
    """
    line = json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(descriptor, line)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
