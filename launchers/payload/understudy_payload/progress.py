"""How far a task is: `progress` events, and the point to end at when asked to."""

from __future__ import annotations

import time

from .errors import Stopped
from .job import Job
from .sections import Task

QUIET_SECONDS = 2.0  # between `progress` events; the last one of a task is always written


class Progress:
    """Of one task with `total` things to do, named by `unit`."""

    def __init__(self, job: Job, task: Task, unit: str, total: int) -> None:
        self._job = job
        self._task = task
        self._unit = unit
        self._total = total
        self._reported: float | None = None

    def pause(self, done: int) -> None:
        """Call between batches: raises Fenced, or Stopped when asked to. `done` things are written."""
        self._job.fence.check()
        if reason := self._job.stop.reason():
            raise Stopped(reason, done=done, total=self._total)

    def report(self, done: int) -> None:
        """Write a `progress` event, unless one was written just now."""
        now = time.monotonic()
        if self._reported is not None and now - self._reported <= QUIET_SECONDS and done < self._total:
            return
        self._reported = now
        self._job.events.write(
            "progress",
            done=done,
            total=self._total,
            unit=self._unit,
            system=self._task.system.id,
            suite=self._task.suite.id,
        )
