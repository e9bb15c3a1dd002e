"""Disks that fail, by what the kernel really does."""

from __future__ import annotations

from pathlib import Path

# Opens well, and every read of its beginning is an Input/output error: nothing is mapped at address 0.
UNREADABLE = Path("/proc/self/mem")


def break_file(path: Path) -> None:
    """From now on reading it is EIO; its bytes wait beside it for `mend_file`."""
    path.rename(_aside(path))
    path.symlink_to(UNREADABLE)


def mend_file(path: Path) -> None:
    path.unlink()
    _aside(path).rename(path)


def _aside(path: Path) -> Path:
    return path.parent.parent / f"aside-{path.parent.name}-{path.name}"
