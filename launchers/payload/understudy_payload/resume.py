"""Which checkpoint to go on from. Only `_COMPLETE.json` makes a folder a checkpoint: it is written last."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .events import EventLog
from .modeling import MARKER
from .tasks import hash_file

NAME = re.compile(r"checkpoint-(\d+)")
# A checkpoint of at most this many bytes is hashed, as the control plane does; hashing 127 GB would take minutes.
HASHED_AT_ONCE = 4_000_000_000


class Found(NamedTuple):
    """A checkpoint to go on from. `digests` False: its files were compared by size alone."""

    step: int
    folder: Path
    digests: bool


def newest_complete(output: Path, events: EventLog) -> Found | None:
    """The newest complete checkpoint, or None. Newer broken ones are reported as skipped."""
    for step, folder in sorted(_folders(output), reverse=True):
        found = _verify(folder, step)
        if isinstance(found, Found):
            return found
        events.write("checkpoint_skipped", checkpoint=folder.name, reason=found)
    return None


def _folders(output: Path) -> Iterator[tuple[int, Path]]:
    for folder in output.iterdir() if output.is_dir() else ():
        match = NAME.fullmatch(folder.name)
        if match and folder.is_dir():
            yield int(match[1]), folder


def _verify(folder: Path, step: int) -> Found | str:
    """The checkpoint, or why this folder cannot be resumed from."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        expected = {name: (entry["bytes"], entry["sha256"]) for name, entry in marker["files"].items()}
    except FileNotFoundError:
        return f"no {MARKER}: the save was cut off"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{MARKER} cannot be read: {error}"
    if marker.get("step") != step:
        return f"{MARKER} says step {marker.get('step')}"
    digests = sum(size for size, _ in expected.values()) <= HASHED_AT_ONCE
    for name, (size, _) in expected.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes, {MARKER} says {size}"
    # after all sizes: what is cut off is found without reading the rest
    for name, (_, digest) in expected.items() if digests else ():
        if hash_file(folder / name) != digest:
            return f"the content of {name} changed: its SHA-256 is not that of {MARKER}"
    return Found(step, folder, digests)
