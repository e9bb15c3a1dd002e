"""What can be measured of an answer's audio. Measures describe; none says whether an answer is good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from .answer_audio import FULL_SCALE, RATE
from .dnsmos import RATE as NARROW_RATE
from .dnsmos import SHORTEST_SECONDS, Dnsmos
from .pitch import f0_spread, voiced_f0
from .resample import resample

# Order of the rows of an answer.
UNITS = {
    "duration": "s",
    "silence_share": "1",
    "clipped_share": "1",
    "characters_per_second": "1/s",
    "f0_spread": "semitones",
    "dnsmos_ovrl": "MOS",
    "dnsmos_sig": "MOS",
    "dnsmos_bak": "MOS",
}
FRAME_SECONDS = 0.02
SILENT_DBFS = -50.0  # root mean square of a frame, relative to full scale
SILENT_BELOW_LOUDEST_DB = 40.0
DECIMALS = 6  # beyond what any of the measures resolves; the last bits depend on the processor


@dataclass(frozen=True)
class Value:
    """`value` in the measure's unit, or None with the reason why there is none."""

    value: float | None
    reason: str | None = None


def missing(reason: str) -> dict[str, Value]:
    """Every measure absent for one reason."""
    return {name: Value(None, reason) for name in UNITS}


def measures(samples: numpy.ndarray, text: str, dnsmos: Dnsmos | None) -> dict[str, Value]:
    """Every measure of one answer.

    `samples`: int16 at 24 kHz, shape (n,); `text`: what the answer says; `dnsmos`: None when its weights are missing.
    Reasons for no value: `empty_audio`, `no_text`, `unvoiced`, `too_short`, `silent`, `unavailable`.
    """
    if not len(samples):
        return missing("empty_audio")
    seconds = len(samples) / RATE
    silent = silent_share(samples)
    narrow = numpy.clip(resample(samples / FULL_SCALE, RATE, NARROW_RATE), -1, 1)
    spread = f0_spread(voiced_f0(narrow, NARROW_RATE))
    characters = spoken_characters(text)
    found = {
        "duration": Value(seconds),
        "silence_share": Value(silent),
        "clipped_share": Value(clipped_share(samples)),
        "characters_per_second": Value(characters / seconds) if characters else Value(None, "no_text"),
        "f0_spread": Value(None, "unvoiced") if spread is None else Value(spread),
        **_opinions(narrow.astype(numpy.float32), seconds, silent, dnsmos),
    }
    return {name: Value(_rounded(found[name].value), found[name].reason) for name in UNITS}


def silent_share(samples: numpy.ndarray) -> float:
    """Share of 20 ms frames that are below SILENT_DBFS or far below the loudest frame; a last piece counts as a frame."""
    size = round(FRAME_SECONDS * RATE)
    starts = range(0, len(samples), size)
    scaled = samples / FULL_SCALE
    power = numpy.array([numpy.mean(scaled[start : start + size] ** 2) for start in starts])
    level = 10 * numpy.log10(numpy.maximum(power, 1e-12))
    return float(numpy.mean(level < max(SILENT_DBFS, level.max() - SILENT_BELOW_LOUDEST_DB)))


def clipped_share(samples: numpy.ndarray) -> float:
    """Share of samples at either end of the 16-bit range."""
    wide = samples.astype(numpy.int32)
    return float(numpy.mean((wide >= FULL_SCALE - 1) | (wide <= -FULL_SCALE)))


def spoken_characters(text: str) -> int:
    """Letters and digits of any script; spaces and punctuation take no time of their own."""
    return sum(character.isalnum() for character in text)


def _opinions(narrow: numpy.ndarray, seconds: float, silent: float, dnsmos: Dnsmos | None) -> dict[str, Value]:
    reason = "unavailable" if dnsmos is None else "too_short" if seconds < SHORTEST_SECONDS else None
    # the network gives silence a score like any other input, and it means nothing
    reason = reason or ("silent" if silent == 1 else None)
    if reason or dnsmos is None:
        return {name: Value(None, reason) for name in UNITS if name.startswith("dnsmos_")}
    return {f"dnsmos_{name}": Value(score) for name, score in dnsmos(narrow).items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
