"""Result folders of evaluation tasks that survive a kill at any moment.

Rows are appended in order; a torn last line is cut off; `_DONE.json` says that nothing is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .files import exists, hash_file, sweep, write_json
from .marker import DONE
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
        return exists(self._folder / DONE)

    def made_from(self, source: dict[str, Any]) -> None:
        """Begin anew unless the rows that are there, finished or not, were made from `source`."""
        path = self._folder / "_SOURCE.json"
        wanted = {"schemaVersion": 1, **source}
        # none, or torn: whatever rows are there, nobody knows what they were made from. One that cannot be read is an error.
        if exists(path) and _parsed(path.read_bytes()) == wanted:
            return
        self._fence.check()
        self._folder.mkdir(parents=True, exist_ok=True)
        # this order, so that a kill in between leaves nothing that passes for rows of the new source
        (self._folder / DONE).unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)
        write_json(path, wanted, self._fence.check)

    def open(self) -> ResultFile:
        """Read the rows that are there into `rows`, and cut the file off where they end.

        That is at a torn line: mostly the last one, but a power cut may leave zeros before lines that are whole.
        """
        self._fence.check()
        self._folder.mkdir(parents=True, exist_ok=True)
        sweep(self._folder)
        self.rows, kept = [], 0
        data = self._path.read_bytes() if exists(self._path) else b""
        for line in data.splitlines(keepends=True):
            row = _parsed(line) if line.endswith(b"\n") else None
            if not isinstance(row, dict):
                break
            self.rows.append(row)
            kept += len(line)
        if kept != len(data):
            self._fence.check()  # reading took a while: this could be a line that a successor is writing
            os.truncate(self._path, kept)
        return self

    def keys(self) -> set[Key]:
        """(dialogue, turn) of every row that is there."""
        return {(row["dialogue"], row["turn"]) for row in self.rows}

    def append(self, rows: Iterable[dict[str, Any]]) -> None:
        """Append rows in one write and flush them to disk."""
        added = list(rows)
        if not added:
            return
        text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in added).encode()
        self._fence.check()
        with open(self._path, "ab") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self.rows.extend(added)

    def finish(self, **facts: Any) -> None:
        """Write `_DONE.json`, `facts` among its keys. The file of rows may be empty, but it exists."""
        self._fence.check()
        self._path.touch()
        facts = {"rows": len(self.rows), "sha256": hash_file(self._path), **facts}
        write_json(self._folder / DONE, {"schemaVersion": 1, **facts}, self._fence.check)


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
