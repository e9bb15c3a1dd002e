"""Change of sample rate with a polyphase windowed-sinc filter, in numpy alone."""

from __future__ import annotations

import functools
import math

import numpy

ZERO_CROSSINGS = 32  # to each side. From 24 to 16 kHz this is flat to 7 kHz, and what aliases is under -90 dB
ROLLOFF = 0.96
KAISER_BETA = 9.0


def resample(samples: numpy.ndarray, source: int, target: int) -> numpy.ndarray:
    """Samples of shape (n,) at `source` Hz to float64 at `target` Hz, shape (ceil(n * target / source),). No delay."""
    if source == target or not len(samples):
        return samples.astype(numpy.float64)
    divisor = math.gcd(source, target)
    up, down = target // divisor, source // divisor
    phases = _phases(up, down)
    width = phases.shape[1]
    half = ZERO_CROSSINGS * max(up, down) // up
    count = -(-len(samples) * up // down)
    padded = numpy.pad(samples.astype(numpy.float64), (half, half + width))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, width)
    result = numpy.empty(count)
    for phase in range(up):
        # output m lies at m * down / up of the input; every up-th output has the same fraction, hence the same taps
        position = phase * down
        first, fraction = divmod(position, up)
        outputs = len(range(phase, count, up))
        result[phase::up] = windows[first : first + outputs * down : down] @ phases[fraction]
    return result


@functools.lru_cache(maxsize=4)
def _phases(up: int, down: int) -> numpy.ndarray:
    """(up, width): taps for an output that lies fraction/up of a sample after the input sample `half` into a window."""
    longest = max(up, down)
    half = ZERO_CROSSINGS * longest // up
    offsets = numpy.arange(-half, half + 1)[None] - numpy.arange(up)[:, None] / up
    cutoff = ROLLOFF * up / longest
    inside = numpy.clip(1 - (offsets / (half + 1)) ** 2, 0, None)
    taps = numpy.sinc(offsets * cutoff) * numpy.i0(KAISER_BETA * numpy.sqrt(inside))
    return taps / taps.sum(axis=1, keepdims=True)  # a constant stays that constant in every phase
