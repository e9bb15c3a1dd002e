"""Acting on a job while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from . import jobs


def when(folder: Path, kind: str, act: Callable[[], object], seconds: float = 90.0) -> threading.Thread:
    """Start a thread that calls `act` once the job in `folder` has written an event of this kind."""

    def wait() -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            path = folder / "events.jsonl"
            if path.exists() and f'"type": "{kind}"' in path.read_text(encoding="utf-8"):
                act()
                return
            time.sleep(0.01)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def steps_of(folder: Path) -> list[float]:
    return [event["loss"] for event in jobs.events(folder, "step")]
