"""Dialogues of Parquet shards, read lazily: the index is the footers, audio is read on access, by row group.

Only the columns that are used are read, so the role's own audio (most of the bytes) never leaves the disk.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy
import pyarrow
import pyarrow.parquet

from .errors import DataError
from .faults import fault
from .stopping import persist_reading
from .wav import decode_clip

Result = TypeVar("Result")

# Shuffled access returns to a row group soon only by luck; a few keep sequential readers from reading one twice.
CACHED_ROW_GROUPS = 4
FIELDS = ("id", "role_id", "language", "kind", "system_prompt")
TURN_FIELDS = ("index", "user_audio.bytes", "role_text")


@dataclass(frozen=True)
class Turn:
    """`audio` is what the user said, WAV or FLAC bytes; `text` is the role's reply."""

    index: int
    audio: bytes
    text: str


@dataclass(frozen=True)
class Dialogue:
    """One conversation. `system_prompt` is the role card, empty when the row has none."""

    id: str
    role: str
    language: str
    kind: str
    system_prompt: str
    turns: tuple[Turn, ...]

    def samples(self, turn: Turn) -> numpy.ndarray:
        """User audio of a turn: float32 at 16 kHz, shape (samples,). DataError when unreadable."""
        return decode_clip(turn.audio, f"dialogue {self.id}, turn {turn.index}")


class Shards(Sequence[Dialogue]):
    """Dialogues in file order. DataError when a shard is missing, no Parquet, or lacks a column."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        footers = [self._open(shard).metadata for shard in range(len(self._paths))]
        # (shard, row group within it)
        self._groups = [(shard, group) for shard in range(len(footers)) for group in range(footers[shard].num_row_groups)]
        sizes = [footers[shard].row_group(group).num_rows for shard, group in self._groups]
        self._starts = [0, *accumulate(sizes)]
        self._forget()

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, position: int) -> Dialogue:
        if not 0 <= position < len(self):
            raise IndexError(position)
        group = bisect_right(self._starts, position) - 1
        row = self._table(group).slice(position - self._starts[group], 1).to_pylist()[0]
        return _dialogue(row, self._paths[self._groups[group][0]])

    def rows(self, *columns: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """(position, row) with only these columns (dotted paths inside `turns`), without touching audio."""
        for group, start in enumerate(self._starts[:-1]):
            for offset, row in enumerate(self._read(group, columns).to_pylist()):
                yield start + offset, row

    def of_roles(self, roles: Sequence[str]) -> list[int]:
        """Positions of the dialogues of these roles, in the order of their ids."""
        wanted = set(roles)
        found = [(row["id"], at) for at, row in self.rows("id", "role_id") if row["role_id"] in wanted]
        return [at for _, at in sorted(found)]

    def __getstate__(self) -> dict[str, Any]:
        return {key: self.__dict__[key] for key in ("_paths", "_groups", "_starts")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self._process = os.getpid()
        self._files: dict[int, pyarrow.parquet.ParquetFile] = {}
        self._cache: OrderedDict[int, pyarrow.Table] = OrderedDict()

    def _table(self, group: int) -> pyarrow.Table:
        if self._process != os.getpid():
            self._forget()  # a forked loader worker must not share file positions with its parent
        if group not in self._cache:
            self._cache[group] = self._read(group, (*FIELDS, *(f"turns.{name}" for name in TURN_FIELDS)))
            if len(self._cache) > CACHED_ROW_GROUPS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(group)
        return self._cache[group]

    def _read(self, group: int, columns: Sequence[str]) -> pyarrow.Table:
        shard, number = self._groups[group]
        return self._tried(shard, lambda: self._read_once(shard, number, columns))

    def _read_once(self, shard: int, number: int, columns: Sequence[str]) -> pyarrow.Table:
        # a file that was open when its disk failed may stay unreadable, hence a new one for each try
        file = self._files.pop(shard, None) or self._opened(shard)
        # pyarrow's thread pool does not survive a fork, hence use_threads=False
        table = file.read_row_group(number, columns=_leaves(file, columns, self._paths[shard]), use_threads=False)
        self._files[shard] = file
        return table

    def _open(self, shard: int) -> pyarrow.parquet.ParquetFile:
        return self._tried(shard, lambda: self._opened(shard))

    def _opened(self, shard: int) -> pyarrow.parquet.ParquetFile:
        # not mapped into memory: a shard that shrinks or a disk that fails would kill the process by SIGBUS
        return pyarrow.parquet.ParquetFile(self._paths[shard], memory_map=False)

    def _tried(self, shard: int, read: Callable[[], Result]) -> Result:
        """What `read` returns. StorageLost when the disk fails for long, DataError for everything wrong with the file."""
        path = self._paths[shard]
        try:
            return persist_reading(f"the shard {path}", read)
        except (OSError, pyarrow.ArrowException) as error:
            if fault(error):
                raise
            raise DataError("SHARD_UNREADABLE", f"{path}: {error}", "stage the dataset again") from error


def _leaves(file: pyarrow.parquet.ParquetFile, columns: Sequence[str], path: Path) -> list[str]:
    """Physical column paths: writers disagree on the name of a list's element (`list.element`, `list.item`)."""
    physical = {}
    for number in range(len(file.schema)):
        leaf = file.schema.column(number).path
        parts = leaf.split(".")
        physical[".".join([parts[0], *parts[3:]]) if parts[0] == "turns" else leaf] = leaf
    missing = [name for name in columns if name not in physical]
    if missing:
        raise DataError("COLUMN_MISSING", f"{path}: no column {', '.join(missing)}", "pack the dataset again")
    return [physical[name] for name in columns]


def _dialogue(row: dict[str, Any], path: Path) -> Dialogue:
    turns = []
    for turn in row["turns"] or ():
        audio = (turn["user_audio"] or {}).get("bytes")
        if not audio or not turn["role_text"]:
            lacks = "role text" if audio else "user audio"
            raise DataError("TURN_INCOMPLETE", f"{path}: dialogue {row['id']}, turn {turn['index']} has no {lacks}")
        turns.append(Turn(turn["index"], audio, turn["role_text"]))
    if not turns:
        raise DataError("DIALOGUE_EMPTY", f"{path}: dialogue {row['id']} has no turns")
    return Dialogue(row["id"], row["role_id"], row["language"], row["kind"], row["system_prompt"] or "", tuple(turns))
