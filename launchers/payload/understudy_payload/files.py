"""Files that survive a kill at any moment, and looks at files that do not take a failing disk for an empty one."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

STAGED = ".tmp"
BUSY = ".nfs"  # how NFS calls a file that was removed while somebody had it open


@contextmanager
def staged(path: Path, check: Callable[[], object]) -> Iterator[Path]:
    """A file to write that becomes `path` in the end: readers see the old file, the new one, or none.

    `check` is called when everything is on the disk, right before the rename; what it raises leaves `path` as it was. Each
    writer has a name of its own, so that two attempts cannot write into one file.
    """
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}{STAGED}")
    try:
        yield temporary
        flush(temporary)
        check()
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    flush(path.parent)


def write_json(path: Path, value: Any, check: Callable[[], object]) -> None:
    """Write a file as `staged` does."""
    with staged(path, check) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


def flush(path: Path) -> None:
    """Bring a file or the names in a folder to the disk: a power cut could keep a marker and lose what it vouches for."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exists(path: Path) -> bool:
    """OSError when that cannot be told. Path.exists() takes some errors for a No in some versions of Python."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_folder(path: Path) -> bool:
    """The same for folders."""
    return exists(path) and stat.S_ISDIR(path.stat().st_mode)


def files_of(folder: Path) -> dict[str, Path]:
    """Every file below a folder by its name there, in the order of the names. OSError when some part cannot be listed.

    What somebody is still writing, or NFS has not removed yet, is no file of the folder.
    """

    def fail(error: OSError) -> None:
        raise error

    found: dict[str, Path] = {}
    for place, _, names in os.walk(folder, onerror=fail):
        for name in names:
            if not name.endswith(STAGED) and not name.startswith(BUSY):
                path = Path(place, name)
                found[path.relative_to(folder).as_posix()] = path
    return {name: found[name] for name in sorted(found)}


def sweep(folder: Path) -> None:
    """Remove what killed writers left below a folder. Of a writer that lives it takes the file, too: only for its owner."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(STAGED):
                Path(place, name).unlink(missing_ok=True)


def discard(folder: Path, proof: str) -> None:
    """Remove a folder, first of all the file in it that says it is whole. OSError when files are left."""
    (folder / proof).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    if exists(folder) and (left := next(iter(files_of(folder)), None)):
        (folder / left).unlink()  # says why it cannot be removed


def hash_file(path: Path) -> str:
    """sha256 of a file as hex, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
