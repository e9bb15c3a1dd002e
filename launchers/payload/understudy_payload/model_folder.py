"""Is a model folder whole? A download that was cut off must be told at once, not after the data has been read."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from .errors import CheckpointError
from .faults import fault
from .files import exists

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
LENGTH = struct.Struct("<Q")
LARGEST_HEADER = 100_000_000  # bytes, the limit of the format


def check_model_folder(folder: Path) -> None:
    """CheckpointError MODEL_INCOMPLETE when weights are missing or cut off. Reads headers, no weights.

    A folder without `config.json` is left to the loaders: they say that it is no model at all.
    """
    if not exists(folder / "config.json"):
        return
    if problem := _problem(folder):
        raise CheckpointError("MODEL_INCOMPLETE", f"{folder} is incomplete: {problem}", "stage the model again")


def _problem(folder: Path) -> str | None:
    index = folder / INDEX
    try:
        names = sorted(set(json.loads(index.read_bytes())["weight_map"].values())) if exists(index) else [SINGLE]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _raise_fault(error)
        return f"{INDEX} cannot be read: {error}"
    for name in names:
        path = folder / name
        if not exists(path):
            return f"{name} is missing"
        try:
            promised = safetensors_size(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            _raise_fault(error)
            return f"the header of {name} cannot be read: {error}"
        if promised != path.stat().st_size:
            return f"{name} has {path.stat().st_size} bytes, its header says {promised}"
    return None


def _raise_fault(error: Exception) -> None:
    # what a failing disk does to a folder says nothing about the folder
    if fault(error):
        raise error


def safetensors_size(path: Path) -> int:
    """Bytes that the header of a safetensors file says it has. ValueError and the like when there is none."""
    with open(path, "rb") as file:
        prefix = file.read(LENGTH.size)
        if len(prefix) < LENGTH.size:
            raise ValueError(f"{len(prefix)} bytes are too few")
        (length,) = LENGTH.unpack(prefix)
        if length > LARGEST_HEADER:
            raise ValueError(f"{length} bytes are not plausible for one")
        data = file.read(length)
    if len(data) < length:
        raise ValueError("it is cut off")
    tensors = [entry for name, entry in json.loads(data).items() if name != "__metadata__"]
    return LENGTH.size + length + max((entry["data_offsets"][1] for entry in tensors), default=0)
