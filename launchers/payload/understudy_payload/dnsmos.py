"""DNSMOS P.835: predicted opinion scores (1 to 5) of speech, background and the whole, without a reference.

Procedure of the DNS Challenge: 16 kHz mono; a clip is appended to itself until it fills a window of 9.01 s; windows
begin every second; each raw score is corrected by a polynomial; the mean over windows comes after the correction.
The public script loses the windows that begin at 7 to 23 s to a rounding error; here they count.
Weights: the package `speechmos` (MIT licence), read without importing it, since its code wants librosa.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy
import torch

from .dnsmos_network import HOP, WINDOW_FRAMES, Network
from .onnx_weights import read_weights

RATE = 16_000
WINDOW = (WINDOW_FRAMES + 1) * HOP  # 9.01 s in samples
# A shorter clip repeated is a buzz: the network was made for speech.
SHORTEST_SECONDS = 0.25
# Highest power first, for the model that is not personalised.
CORRECTIONS = {
    "sig": (-0.08397278, 1.22083953, 0.0052439),
    "bak": (-0.13166888, 1.60915514, -0.39604546),
    "ovrl": (-0.06766283, 1.11546468, 0.04602535),
}


class Dnsmos:
    """Scores clips on one device. Loading takes a moment, so make one and keep it."""

    def __init__(self, weights: Path, device: torch.device) -> None:
        self._network = Network(read_weights(weights), device)

    def __call__(self, clip: numpy.ndarray) -> dict[str, float]:
        """`sig`, `bak` and `ovrl` (mean opinion scores) of float samples in [-1, 1], shape (samples,), at 16 kHz.

        ValueError for a clip that is empty, shorter than SHORTEST_SECONDS, has channels, or leaves [-1, 1].
        """
        if clip.ndim != 1:
            raise ValueError(f"one channel is expected, the shape is {clip.shape}")
        if len(clip) < SHORTEST_SECONDS * RATE:
            raise ValueError(f"{len(clip)} samples are too few, {SHORTEST_SECONDS} s are needed")
        # written so that NaN fails as well
        if not bool(numpy.all(numpy.abs(clip) <= 1)):
            raise ValueError("samples must lie between -1 and 1")
        total = filled_length(len(clip))
        raw = self._network.scores(clip, total, window_starts(total)).double().cpu().numpy()
        return {
            name: float(numpy.polyval(polynomial, raw[:, column]).mean())
            for column, (name, polynomial) in enumerate(CORRECTIONS.items())
        }


def filled_length(samples: int) -> int:
    """Samples after appending a clip to itself until a window is full."""
    return samples * 2 ** max(0, math.ceil(math.log2(WINDOW / samples)))


def window_starts(samples: int) -> list[int]:
    """First frame of each window: one a second; the last second that could begin a window is left out, as published."""
    return [second * RATE // HOP for second in range(max(1, samples // RATE - 9))]


def find_weights() -> Path | None:
    """The weights that `speechmos` ships, or None when it is not installed."""
    found = importlib.util.find_spec("speechmos")
    for folder in found.submodule_search_locations if found else ():
        path = Path(folder, "dnsmos_models", "sig_bak_ovr.onnx")
        if path.is_file():
            return path
    return None
