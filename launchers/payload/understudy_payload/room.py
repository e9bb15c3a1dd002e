"""A disk that is full while a checkpoint is saved."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import DiskFull
from .faults import disk_full
from .files import STAGED, discard
from .marker import MARKER
from .stopping import Fence

# torch.save keeps to itself what the system said.
WRITER = re.compile(r"inline_container|PytorchStreamWriter|iostream error")
TRIED = 16_000_000  # bytes


@contextmanager
def room_left(folder: Path, fence: Fence) -> Iterator[None]:
    """Turns an error for want of room while a checkpoint is written to `folder` into DiskFull, and removes what was written.

    Half a checkpoint is of no use, and the events of the run need the room, that of this failure first of all.
    """
    try:
        yield
    except Exception as error:
        full: Exception | None = error if disk_full(error) else None
        if full is None and isinstance(error, RuntimeError) and WRITER.search(str(error)):
            full = _tried(folder)
        if full is None:
            raise
        if not fence.broken():
            with suppress(OSError):
                discard(folder, MARKER)
        raise DiskFull(f"there is no room for {folder}: {full}") from error


def _tried(folder: Path) -> OSError | None:
    """What the system says about room."""
    path = folder / f"room.{secrets.token_hex(4)}{STAGED}"
    try:
        with open(path, "wb") as file:
            file.write(bytes(TRIED))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error if disk_full(error) else None
    finally:
        with suppress(OSError):
            path.unlink()
    return None
