"""What every kind of job shares while it runs: its events, its fence, its requests to stop."""

from __future__ import annotations

import os
import platform
import socket
from importlib.metadata import PackageNotFoundError, version

from .events import EventLog
from .manifest import Manifest
from .stopping import Fence, StopRequest

NAMED = ("torch", "transformers", "peft", "accelerate", "numpy", "pyarrow")


class Job:
    """Opens nothing that blocks. Signals are taken over as soon as the job exists."""

    def __init__(self, manifest: Manifest) -> None:
        # torchrun sets these; the payload must not import torch to find out who it is
        self.rank = int(os.environ.get("RANK", "0"))
        self.world_size = int(os.environ.get("WORLD_SIZE", "1"))
        self.kind = manifest.kind
        self.fence = Fence(manifest.paths.fence, manifest.attempt.token)
        events, number = manifest.paths.events, manifest.attempt.number
        self.events = EventLog(events, number, enabled=self.rank == 0, fence=self.fence)
        # any rank may fail alone, and then nobody else can tell why
        self.last_words = EventLog(events, number, fence=self.fence)
        self.stop = StopRequest(manifest.paths.stop).listen()

    def started(self, device: str) -> None:
        """Write `started`; `device` is `cpu` or `cuda`."""
        self.events.write(
            "started",
            kind=self.kind,
            pid=os.getpid(),
            host=socket.gethostname(),
            device=device,
            worldSize=self.world_size,
            versions={"python": platform.python_version(), **_versions()},
        )


def _versions() -> dict[str, str]:
    found = {}
    for name in NAMED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
