"""Proof that a folder was written to the end, with size and digest of every file. Written last, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .files import files_of, flush, hash_file, write_json

MARKER = "_COMPLETE.json"  # of a checkpoint
DONE = "_DONE.json"  # of a task


def write_marker(folder: Path, facts: dict[str, Any], check: Callable[[], object]) -> None:
    """Bring a checkpoint to the disk, hash it, then write `_COMPLETE.json` atomically.

    `facts` are its keys besides schema and files. All this takes minutes for a large checkpoint: `check` is called after
    it, right before the marker gets its name, and raises when it must not.
    """
    write_json(folder / MARKER, {"schemaVersion": 1, **facts, "files": file_facts(folder)}, check)


def file_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """`{name: {bytes, sha256}}` of every file below the folder, each flushed to disk first."""
    facts = {}
    for name, path in files_of(folder).items():
        flush(path)
        facts[name] = {"bytes": path.stat().st_size, "sha256": hash_file(path)}
    return facts
