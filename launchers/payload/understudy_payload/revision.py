"""The content address of a model folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .tasks import hash_file


def folder_revision(folder: Path) -> str:
    """sha256 (hex) over the lines `sha256  name` of all files, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{hash_file(path)}  {path.relative_to(folder).as_posix()}\n".encode())
    return digest.hexdigest()
