"""`_COMPLETE.json`: proof that a checkpoint was written to the end, with size and digest of every file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .modeling import MARKER
from .tasks import hash_file, write_json


def write_marker(folder: Path, facts: dict[str, Any]) -> None:
    """Flush every file to disk, then write the marker atomically. `facts` are its keys besides schema and files."""
    write_json(folder / MARKER, {"schemaVersion": 1, **facts, "files": file_facts(folder)})


def file_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """`{name: {bytes, sha256}}` of every file below the folder, each flushed to disk first."""
    facts = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        _flush(path)
        facts[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": hash_file(path)}
    return facts


def _flush(path: Path) -> None:
    # without this a power cut could keep the marker and lose the weights
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
