"""The content address of a model folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from .files import files_of, hash_file


def folder_revision(folder: Path) -> str:
    """The revision of the files that are there."""
    return revision_of({name: hash_file(path) for name, path in files_of(folder).items()})


def revision_of(digests: Mapping[str, str]) -> str:
    """sha256 (hex) over the lines `sha256  name`, in the order of their names."""
    lines = (f"{digests[name]}  {name}\n" for name in sorted(digests))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
