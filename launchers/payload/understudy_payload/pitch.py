"""Fundamental frequency by normalised autocorrelation.

After P. Boersma, "Accurate short-term analysis of the fundamental frequency and the harmonics-to-noise ratio of a
sampled sound" (1993), with his constants; without his search for the best path, since a spread between percentiles
tolerates a few octave errors.
"""

from __future__ import annotations

import numpy

FLOOR_HERTZ = 75.0
CEILING_HERTZ = 600.0
HOP_SECONDS = 0.01
PERIODS = 3  # a frame holds this many periods of the lowest frequency
VOICING_THRESHOLD = 0.45
SILENCE_THRESHOLD = 0.03
OCTAVE_COST = 0.01
FEWEST_VOICED = 10  # frames; less than a tenth of a second of voice says nothing about intonation


def voiced_f0(samples: numpy.ndarray, rate: int) -> numpy.ndarray:
    """F0 in Hz of every voiced frame, shape (voiced frames,). `samples`: float, shape (n,)."""
    size = round(PERIODS * rate / FLOOR_HERTZ)
    peak = float(numpy.abs(samples).max(initial=0.0))
    if len(samples) < size or peak == 0:
        return numpy.empty(0)
    frames = numpy.lib.stride_tricks.sliding_window_view(samples, size)[:: round(HOP_SECONDS * rate)]
    frames = frames - frames.mean(axis=1, keepdims=True)
    correlation, first = _autocorrelation(frames, rate)
    lag, height = _best_lag(correlation, first, rate)
    # the quieter a frame, the more periodic it must be to count as voice
    loudness = numpy.abs(frames).max(axis=1) / peak
    needed = VOICING_THRESHOLD + numpy.clip(2 - loudness * (1 + VOICING_THRESHOLD) / SILENCE_THRESHOLD, 0, None)
    f0 = rate / lag
    voiced = (height - OCTAVE_COST * numpy.log2(FLOOR_HERTZ / f0) > needed) & (f0 >= FLOOR_HERTZ) & (f0 <= CEILING_HERTZ)
    return f0[voiced]


def f0_spread(f0: numpy.ndarray) -> float | None:
    """Semitones between the 10th and the 90th percentile of F0; None below FEWEST_VOICED frames."""
    if len(f0) < FEWEST_VOICED:
        return None
    low, high = numpy.percentile(12 * numpy.log2(f0), [10, 90])
    return float(high - low)


def _autocorrelation(frames: numpy.ndarray, rate: int) -> tuple[numpy.ndarray, int]:
    """(frames, lags) divided by the window's own autocorrelation, and the first lag. One more lag at both ends."""
    size = frames.shape[1]
    first, last = int(rate / CEILING_HERTZ) - 1, int(numpy.ceil(rate / FLOOR_HERTZ)) + 1
    window = numpy.hanning(size + 2)[1:-1]
    length = 1 << (size + last).bit_length()

    def correlate(values: numpy.ndarray) -> numpy.ndarray:
        power = numpy.abs(numpy.fft.rfft(values, length)) ** 2
        return numpy.fft.irfft(power, length)[..., : last + 1]

    signal, shape = correlate(frames * window), correlate(window)
    energy = numpy.maximum(signal[:, :1], numpy.finfo(float).tiny)
    return (signal / energy / (shape / shape[0]))[:, first:], first


def _best_lag(correlation: numpy.ndarray, first: int, rate: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """(lag in samples, height) of each frame's best maximum, between samples by a parabola."""
    before, middle, after = correlation[:, :-2], correlation[:, 1:-1], correlation[:, 2:]
    lags = first + 1 + numpy.arange(middle.shape[1])
    # of equal heights the shorter lag wins, so that a tone is not taken for its own octave below
    strength = middle - OCTAVE_COST * numpy.log2(FLOOR_HERTZ * lags / rate)
    strength = numpy.where((middle >= before) & (middle > after), strength, -numpy.inf)
    best = strength.argmax(axis=1)
    row = numpy.arange(len(best))
    left, centre, right = before[row, best], middle[row, best], after[row, best]
    bend = numpy.minimum(left - 2 * centre + right, -numpy.finfo(float).eps)
    shift = numpy.clip(0.5 * (left - right) / bend, -1, 1)
    found = numpy.isfinite(strength[row, best])
    return lags[best] + shift, numpy.where(found, centre - 0.25 * (left - right) * shift, -numpy.inf)
