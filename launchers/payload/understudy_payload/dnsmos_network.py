"""The DNSMOS P.835 network in torch, arranged so that overlapping windows share their work.

The published network scores one window of 9.01 s. It is convolutional and ends in a maximum over time and frequency, so
all but the outermost frames of a window do not depend on where the window begins. Those frames are computed once for
the whole clip, and once for all repetitions of a clip that is repeated to fill a window. The result is the same, in a
fraction of the time (a clip of 1 s: a sixth of one window instead of seven windows).

Weights: `sig_bak_ovr.onnx` of the DNS Challenge. A spectrogram is (frames, 161): 320 samples a frame, hop 160.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy
import torch
from torch.nn.functional import conv2d, linear, max_pool2d, relu

HOP = 160
FRAME = 320
WINDOW_FRAMES = 900
CONTEXT = 4  # frames that the four convolutions before the first pooling reach to each side
EDGE = 2 * CONTEXT  # frames from which the outermost CONTEXT frames of a window follow
CHUNK = 128  # frames at a time: larger pieces leave the processor's cache
WINDOWS_AT_ONCE = 8
POOLING = 8  # frames per column of the last layer
REACH = 64  # more frames than a column of the last layer sees, and a multiple of POOLING
FLOOR = 1e-12


class Network:
    """Raw scores of windows. `weights` are those of the ONNX file, by name."""

    def __init__(self, weights: Mapping[str, numpy.ndarray], device: torch.device) -> None:
        def tensor(name: str) -> torch.Tensor:
            value = torch.from_numpy(weights[name]).to(device)
            return value.contiguous(memory_format=torch.channels_last) if value.ndim == 4 else value

        self._device = device
        self._real = tensor("time2freq/stft-real/kernel:0")[:, :, 0]
        self._imaginary = tensor("time2freq/stft-imag/kernel:0")[:, :, 0]
        layers = ["conv2d", *(f"conv2d_{number}" for number in range(1, 7))]
        self._convolutions = [(tensor(f"{name}/kernel:0"), tensor(f"{name}/bias:0")) for name in layers]
        dense = [f"mos_estimator_logpow/{name}" for name in ("dense", "dense_1", "dense_3")]
        self._dense = [
            (tensor(f"{name}/MatMul/ReadVariableOp/resource:0").T, tensor(f"{name}/BiasAdd/ReadVariableOp/resource:0"))
            for name in dense
        ]

    @torch.inference_mode()
    def scores(self, clip: numpy.ndarray, total: int, starts: list[int]) -> torch.Tensor:
        """(windows, 3) raw SIG, BAK, OVRL of `clip` repeated to `total` samples, windows starting at frames `starts`.

        `clip` is float32 at 16 kHz, one channel. Starts are even, and each leaves room for a whole window.
        """
        frames = total // HOP - 1
        period = math.lcm(len(clip), FRAME) // HOP
        repeats = period < frames
        if not repeats:
            period = frames - frames % 2
        spectrogram = self._spectrogram(numpy.resize(clip, (period + 1) * HOP))
        shared = self._before_pooling(spectrogram, repeats)
        # one window stands for all that begin at the same point of the period
        distinct = sorted({start % period if repeats else start for start in starts})
        length = _shortened(period) if repeats else WINDOW_FRAMES
        parts = [distinct[at : at + WINDOWS_AT_ONCE] for at in range(0, len(distinct), WINDOWS_AT_ONCE)]
        scores = torch.cat([self._windows(spectrogram, shared, part, length) for part in parts])
        return scores[[distinct.index(start % period if repeats else start) for start in starts]]

    def _spectrogram(self, samples: numpy.ndarray) -> torch.Tensor:
        frames = torch.from_numpy(samples.astype(numpy.float32)).to(self._device).unfold(0, FRAME, HOP)
        power = (frames @ self._real.T).square() + (frames @ self._imaginary.T).square()
        return power.clamp(min=FLOOR).log() / math.log(10)

    def _before_pooling(self, spectrogram: torch.Tensor, repeats: bool) -> torch.Tensor:
        """(32, frames / 2, 80): the expensive layers over every frame, as if no window began or ended."""
        frames = len(spectrogram)
        around = torch.arange(-CONTEXT, frames + CONTEXT, device=self._device)
        # without repetition the outermost frames are wrong here, but they are outermost in their windows too
        around = around % frames if repeats else around.clamp(0, frames - 1)
        padded = spectrogram[around]
        pieces = []
        for start in range(0, frames, CHUNK):
            piece = self._expensive(padded[None, None, start : start + CHUNK + 2 * CONTEXT])
            pieces.append(max_pool2d(piece[:, :, CONTEXT:-CONTEXT], 2)[0])
        return torch.cat(pieces, dim=1)

    def _windows(
        self, spectrogram: torch.Tensor, shared: torch.Tensor, starts: list[int], length: int
    ) -> torch.Tensor:
        """(windows, 3) raw scores. `length`: frames that are evaluated, a whole window or a shortened one."""
        first = torch.tensor(starts, device=self._device)[:, None]
        edge, columns = (torch.arange(size, device=self._device) for size in (EDGE, length // 2))
        maps = shared[:, (first // 2 + columns) % shared.shape[1]].transpose(0, 1).contiguous()
        left = spectrogram[(first + edge) % len(spectrogram)]
        right = spectrogram[(first + WINDOW_FRAMES - EDGE + edge) % len(spectrogram)]
        edges = self._expensive(torch.cat([left, right])[:, None])
        half = CONTEXT // 2
        maps[:, :, :half] = max_pool2d(edges[: len(starts), :, :CONTEXT], 2)
        maps[:, :, -half:] = max_pool2d(edges[len(starts) :, :, CONTEXT:], 2)
        return self._cheap(maps)

    def _expensive(self, values: torch.Tensor) -> torch.Tensor:
        for kernel, bias in self._convolutions[:4]:
            values = relu(conv2d(values, kernel, bias, padding=1))
        return values

    def _cheap(self, maps: torch.Tensor) -> torch.Tensor:
        for kernel, bias in self._convolutions[4:6]:
            maps = max_pool2d(relu(conv2d(maps, kernel, bias, padding=1)), 2)
        kernel, bias = self._convolutions[6]
        values = relu(conv2d(maps, kernel, bias, padding=1)).amax(dim=(2, 3))
        for weight, bias in self._dense[:2]:
            values = relu(linear(values, weight, bias))
        return linear(values, *self._dense[2])


def _shortened(period: int) -> int:
    """Frames that suffice for a window over a repeating clip.

    Whole repetitions may go from the middle, if they are whole pooling steps too: what they add to the maximum is there
    already as long as one repetition stays clear of both ends.
    """
    step = math.lcm(period, POOLING)
    return WINDOW_FRAMES - max(0, (WINDOW_FRAMES - REACH) // step - 1) * step
