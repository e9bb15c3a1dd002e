"""Result folders of evaluation tasks that survive a kill at any moment.

Rows are appended in order; a torn last line is cut off; `_DONE.json` says that nothing is missing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .stopping import Fence

Key = tuple[str, int]


class ResultFile:
    """The JSON-lines file of one task. `fence` is checked before each write."""

    def __init__(self, folder: Path, name: str, fence: Fence) -> None:
        self._folder = folder
        self._path = folder / name
        self._fence = fence
        self.rows: list[dict[str, Any]] = []

    @property
    def done(self) -> bool:
        """True when the task is finished and can be skipped."""
        return (self._folder / "_DONE.json").exists()

    def made_from(self, source: dict[str, Any]) -> None:
        """Begin anew unless the rows that are there, finished or not, were made from `source`."""
        path = self._folder / "_SOURCE.json"
        wanted = {"schemaVersion": 1, **source}
        try:
            if json.loads(path.read_bytes()) == wanted:
                return
        except (OSError, ValueError):
            pass  # none, or torn: whatever rows are there, nobody knows what they were made from
        self._fence.check()
        self._folder.mkdir(parents=True, exist_ok=True)
        # this order, so that a kill in between leaves nothing that passes for rows of the new source
        (self._folder / "_DONE.json").unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)
        write_json(path, wanted)

    def open(self) -> ResultFile:
        """Cut off a torn last line and read the rows that are there into `rows`."""
        self._fence.check()
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = b""
        if self._path.exists():
            data = self._path.read_bytes()
            kept = data[: data.rfind(b"\n") + 1]
            if len(kept) != len(data):
                self._fence.check()  # reading took a while: this could be a line that a successor is writing
                os.truncate(self._path, len(kept))
        self.rows = [json.loads(line) for line in kept.splitlines()]
        return self

    def keys(self) -> set[Key]:
        """(dialogue, turn) of every row that is there."""
        return {(row["dialogue"], row["turn"]) for row in self.rows}

    def append(self, rows: Iterable[dict[str, Any]]) -> None:
        """Append rows in one write and flush them to disk."""
        added = list(rows)
        if not added:
            return
        self._fence.check()
        text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in added)
        with open(self._path, "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self.rows.extend(added)

    def finish(self, **facts: Any) -> None:
        """Write `_DONE.json`, `facts` among its keys. The file of rows may be empty, but it exists."""
        self._fence.check()
        self._path.touch()
        digest = hashlib.sha256(self._path.read_bytes()).hexdigest()
        self._fence.check()  # reading took a while
        write_json(self._folder / "_DONE.json", {"schemaVersion": 1, "rows": len(self.rows), "sha256": digest, **facts})


def write_json(path: Path, value: Any) -> None:
    """Write atomically and durably: readers see the old file, the new one, or none."""
    staged = path.with_name(path.name + ".tmp")
    with open(staged, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def hash_file(path: Path) -> str:
    """sha256 of a file as hex, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
