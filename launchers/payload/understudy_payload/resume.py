"""Which checkpoint to go on from. Only `_COMPLETE.json` makes a folder a checkpoint: it is written last."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from .events import EventLog
from .modeling import MARKER

NAME = re.compile(r"checkpoint-(\d+)")


def newest_complete(output: Path, events: EventLog) -> tuple[int, Path] | None:
    """(step, folder) of the newest complete checkpoint, or None. Newer broken ones are reported as skipped."""
    for step, folder in sorted(_folders(output), reverse=True):
        problem = _problem(folder, step)
        if problem is None:
            return step, folder
        events.write("checkpoint_skipped", checkpoint=folder.name, reason=problem)
    return None


def _folders(output: Path) -> Iterator[tuple[int, Path]]:
    for folder in output.iterdir() if output.is_dir() else ():
        match = NAME.fullmatch(folder.name)
        if match and folder.is_dir():
            yield int(match[1]), folder


def _problem(folder: Path, step: int) -> str | None:
    """Why this folder cannot be resumed from. Sizes are compared, not digests: hashing 127 GB would take minutes."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        expected = {name: entry["bytes"] for name, entry in marker["files"].items()}
    except FileNotFoundError:
        return f"no {MARKER}: the save was cut off"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{MARKER} cannot be read: {error}"
    if marker.get("step") != step:
        return f"{MARKER} says step {marker.get('step')}"
    for name, size in expected.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes, {MARKER} says {size}"
    return None
