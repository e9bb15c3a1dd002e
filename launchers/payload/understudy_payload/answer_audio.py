"""The audio of an answer: WAV with the canonical 44-byte header, 24 kHz, one channel, signed 16 bit."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy

from .files import staged

RATE = 24_000
HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
FULL_SCALE = 32_768


def audio_name(dialogue: str, turn: int) -> str:
    """Path within a task's folder. An id with a slash or other odd character is percent-encoded."""
    return f"audio/{quote(dialogue, safe='')}-{turn}.wav"


def audio_digest(rows: Iterable[dict[str, Any]]) -> str:
    """sha256 (hex) over the sorted lines `path sha256` of the rows' audio: one digest for all that is to be heard."""
    lines = sorted(f"{row['audio']} {row['sha256']}\n" for row in rows if row["audio"] is not None)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def quantise(samples: numpy.ndarray) -> numpy.ndarray:
    """Float samples to int16, values beyond full scale cut off. Samples must be finite."""
    return numpy.clip(numpy.rint(samples * float(FULL_SCALE)), -FULL_SCALE, FULL_SCALE - 1).astype("<i2")


def write_wav(path: Path, samples: numpy.ndarray, check: Callable[[], object]) -> str:
    """Write int16 samples of shape (samples,) as `staged` does and return the file's sha256 as hex."""
    body = samples.astype("<i2").tobytes()
    head = HEADER.pack(
        b"RIFF", HEADER.size - 8 + len(body), b"WAVE", b"fmt ", 16, 1, 1, RATE, RATE * 2, 2, 16, b"data", len(body)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with staged(path, check) as temporary:
        temporary.write_bytes(head + body)
    return hashlib.sha256(head + body).hexdigest()


def read_wav(data: bytes) -> numpy.ndarray:
    """int16 samples of a file as `write_wav` makes it; ValueError for anything else."""
    if len(data) < HEADER.size:
        raise ValueError(f"{len(data)} bytes are less than a header")
    fields = HEADER.unpack_from(data)
    form = fields[:1] + fields[2:4] + fields[5:8] + fields[10:12]
    if form != (b"RIFF", b"WAVE", b"fmt ", 1, 1, RATE, 16, b"data"):
        raise ValueError(f"expected 24 kHz mono 16-bit PCM, the header says {form}")
    if fields[12] != len(data) - HEADER.size or fields[12] % 2:
        raise ValueError(f"the header says {fields[12]} bytes of samples, {len(data) - HEADER.size} are there")
    return numpy.frombuffer(data, "<i2", offset=HEADER.size)
