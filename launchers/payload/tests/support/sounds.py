"""Sounds with known properties."""

from __future__ import annotations

import numpy


def glide(low: float, high: float, seconds: float, rate: int, level: float = 0.2) -> numpy.ndarray:
    """A buzz of six harmonics whose pitch rises evenly in semitones from `low` to `high` Hz."""
    frequency = low * (high / low) ** numpy.linspace(0, 1, round(seconds * rate))
    phase = 2 * numpy.pi * numpy.cumsum(frequency) / rate
    return level * sum(numpy.sin(harmonic * phase) / harmonic for harmonic in range(1, 7))


def speechlike(samples: int) -> numpy.ndarray:
    """float32 at 16 kHz: a voice that wavers in pitch and loudness, with noise that the length seeds."""
    time = numpy.arange(samples) / 16_000
    phase = 2 * numpy.pi * numpy.cumsum(140 + 30 * numpy.sin(5 * time)) / 16_000
    voice = sum(numpy.sin(harmonic * phase) / harmonic for harmonic in range(1, 9))
    noise = numpy.random.default_rng(samples).standard_normal(samples)
    return (0.1 * voice * numpy.abs(numpy.sin(2 * numpy.pi * 1.7 * time)) + 0.003 * noise).astype("f4")
