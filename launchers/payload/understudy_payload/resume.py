"""Which checkpoint to go on from. Only `_COMPLETE.json` makes a folder a checkpoint: it is written last.

What cannot be read is not torn: going on from an older checkpoint would throw hours away. A disk that fails is waited for,
and ends the job if it does not come back.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import stopping
from .errors import CheckpointError
from .events import EventLog
from .files import files_of, hash_file
from .marker import MARKER

NAME = re.compile(r"checkpoint-(\d+)")
# A checkpoint of at most this many bytes is hashed, as the control plane does; hashing 127 GB would take minutes.
HASHED_AT_ONCE = 4_000_000_000
# A network disk may show a folder as it was a minute ago, while the event log is always read as it is.
LATE_SECONDS = 90.0


class Found(NamedTuple):
    """A checkpoint to go on from. `digests` False: its files were compared by size alone."""

    step: int
    folder: Path
    digests: bool
    world_size: int | None


def newest_complete(output: Path, events: EventLog) -> Found | None:
    """The newest complete checkpoint, or None. Newer ones that are broken or gone are reported as skipped.

    StorageLost when the disk stays unreadable, CheckpointError when reading is forbidden.
    """
    gone = _wait_for_late(output, events)
    skipped: dict[int, tuple[str, str]] = {}

    def look() -> Found | None:
        skipped.clear()
        for step, folder in sorted(_folders(output).items(), reverse=True):
            found = _verify(folder, step)
            if isinstance(found, Found):
                return found
            skipped[step] = folder.name, found
        return None

    found = _persist(output, look)
    newer = {step: (name, "it was complete once, and is gone") for step, name in gone.items()}
    for step, (name, reason) in sorted({**newer, **skipped}.items(), reverse=True):
        if found is None or step > found.step:
            events.write("checkpoint_skipped", checkpoint=name, reason=reason)
    return found


def see(found: Found) -> None:
    """For ranks that did not choose it: wait until this machine shows the checkpoint, too. StorageLost in the end."""

    def look() -> None:
        seen = _verify(found.folder, found.step, digests=False)
        if isinstance(seen, str):
            raise FileNotFoundError(f"{found.folder}: {seen}")

    _persist(found.folder, look)


def check_world(found: Found, zero: int, world_size: int) -> None:
    """CheckpointError when a checkpoint of DeepSpeed was saved by another number of processes: it has a part for each."""
    if zero and found.world_size != world_size:
        raise CheckpointError(
            "WORLD_CHANGED",
            f"{found.folder} was saved by {found.world_size} processes and ZeRO cannot go on with {world_size}",
            "resume on as many GPUs as before",
        )


def _wait_for_late(output: Path, events: EventLog) -> dict[int, str]:
    """Completed checkpoints that the event log names and that are not there, even after a while."""
    deadline = stopping.clock() + LATE_SECONDS
    while True:
        there = _persist(output, lambda: _folders(output))
        named = _persist(output, events.checkpoints)
        gone = {step: name for step, name in named.items() if step not in there}
        if not any(step > max(there, default=0) for step in gone) or stopping.clock() >= deadline:
            return gone
        stopping.sleep(stopping.LONGEST_WAIT)


def _persist(place: Path, look: Any) -> Any:
    def again(error: OSError) -> bool:
        return not isinstance(error, PermissionError)

    try:
        return stopping.persist(f"the checkpoints in {place}", look, again)
    except PermissionError as error:
        hint = "give the user of the job the right to read it"
        raise CheckpointError("CHECKPOINT_FORBIDDEN", f"a checkpoint cannot be read: {error}", hint) from error


def _folders(output: Path) -> dict[int, Path]:
    try:
        output.lstat()
    except FileNotFoundError:
        return {}
    named = {int(match[1]): path for path in output.iterdir() if (match := NAME.fullmatch(path.name))}
    # What is listed can be looked at. Where it cannot, as behind a link to a disk that is not mounted, that is an error.
    return {step: path for step, path in named.items() if stat.S_ISDIR(path.stat().st_mode)}


def _verify(folder: Path, step: int, digests: bool = True) -> Found | str:
    """The checkpoint, or why this folder cannot be resumed from. OSError when that cannot be told."""
    files = files_of(folder)
    if MARKER not in files:
        return f"no {MARKER}: the save was cut off"
    text = files[MARKER].read_bytes()
    try:
        marker = json.loads(text)
        expected = {name: (entry["bytes"], entry["sha256"]) for name, entry in marker["files"].items()}
        saved, world_size = marker.get("step"), marker.get("worldSize")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{MARKER} cannot be read: {error!r}"
    if saved != step:
        return f"{MARKER} says step {saved}"
    hashed = digests and sum(size for size, _ in expected.values()) <= HASHED_AT_ONCE
    for problem in _misfits(files, expected, hashed):
        return problem
    return Found(step, folder, hashed, world_size)


def _misfits(files: dict[str, Path], expected: dict[str, tuple[int, str]], hashed: bool) -> Iterator[str]:
    for name, (size, _) in expected.items():
        if name not in files:
            yield f"{name} is missing"
        elif (there := files[name].stat().st_size) != size:
            yield f"{name} has {there} bytes, {MARKER} says {size}"
    # after all sizes: what is cut off is found without reading the rest
    for name, (_, digest) in expected.items() if hashed else ():
        if hash_file(files[name]) != digest:
            yield f"the content of {name} changed: its SHA-256 is not that of {MARKER}"
