"""16 kHz mono 16-bit WAV bytes to samples. The corpus stores nothing else, so no audio library is needed."""

from __future__ import annotations

import struct

import numpy

from .errors import DataError

SAMPLE_RATE = 16_000


def decode_wav(data: bytes, place: str) -> numpy.ndarray:
    """Return float32 samples in [-1, 1), shape (samples,). DataError names `place` when it cannot."""
    try:
        return _pcm(data).astype(numpy.float32) / 32768
    except (struct.error, ValueError) as error:
        raise DataError("AUDIO_UNREADABLE", f"{place}: {error or 'cut off'}", "pack the dataset again") from error


def _pcm(data: bytes) -> numpy.ndarray:
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("no RIFF WAVE header")
    position, form = 12, None
    while position + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, position)
        position += 8
        if name == b"fmt ":
            form = struct.unpack_from("<HHIIHH", data, position)
        if name == b"data":
            if form is None or (form[0], form[1], form[2], form[5]) != (1, 1, SAMPLE_RATE, 16):
                raise ValueError(f"expected 16 kHz mono 16-bit PCM, got (format, channels, rate, ..., bits) {form}")
            if position + size > len(data) or size % 2:
                raise ValueError(f"the data chunk says {size} bytes, {len(data) - position} are there")
            return numpy.frombuffer(data, "<i2", size // 2, position)
        position += size + size % 2
    raise ValueError("no data chunk")
