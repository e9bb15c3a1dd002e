"""Stored clips to samples: 16 kHz mono 16-bit, as WAV bytes or as FLAC. The corpus stores nothing else."""

from __future__ import annotations

import io
import struct

import numpy

from .errors import DataError

SAMPLE_RATE = 16_000


def decode_clip(data: bytes, place: str) -> numpy.ndarray:
    """Return float32 samples in [-1, 1), shape (samples,). DataError names `place` when it cannot."""
    try:
        pcm = _flac(data, place) if data[:4] == b"fLaC" else _wav(data)
    except (struct.error, ValueError) as error:
        raise DataError("AUDIO_UNREADABLE", f"{place}: {error or 'cut off'}", "pack the dataset again") from error
    return pcm.astype(numpy.float32) / 32768


def _wav(data: bytes) -> numpy.ndarray:
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


def _flac(data: bytes, place: str) -> numpy.ndarray:
    soundfile = _library(place)
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            form = (file.channels, file.samplerate, file.subtype)
            if form != (1, SAMPLE_RATE, "PCM_16"):
                raise ValueError(f"expected 16 kHz mono 16-bit FLAC, got (channels, rate, samples) {form}")
            # libsndfile gives fewer samples than the header says where a file is cut off, without a word.
            promised, samples = file.frames, file.read(dtype="int16")
    except soundfile.LibsndfileError as error:
        raise ValueError(f"broken FLAC: {error.error_string}") from error
    if len(samples) != promised or promised == 0:
        raise ValueError(f"the FLAC header says {promised} samples, {len(samples)} are there")
    return samples


# Only a data set that was packed as FLAC needs it, and its C library is not on every machine.
def _library(place: str):
    try:
        import soundfile
    except (ImportError, OSError) as error:
        hint = "install soundfile with its libsndfile, or pack the dataset with audio.codec: wav"
        raise DataError("FLAC_UNSUPPORTED", f"{place} is FLAC, which cannot be read here: {error}", hint) from error
    return soundfile
