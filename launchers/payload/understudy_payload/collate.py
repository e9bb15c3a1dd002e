"""Batches for the thinker: padded ids and mel features that are as long as the longest clip, not 300 s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy
import torch

from .conversation import IGNORED, Encoded, mel_frames
from .wav import SAMPLE_RATE

# The extractor's window reaches this far past a frame; with it the last frame of the longest clip is exact.
WINDOW = 400


def mel_features(extractor: Any, clips: Sequence[numpy.ndarray]) -> dict[str, torch.Tensor]:
    """Bit-identical to the official padding to 300 s, cropped to the longest clip.

    Returns `input_features` (clips, mel bins, frames) float32 and `feature_attention_mask` (clips, frames).
    """
    longest = max(len(clip) for clip in clips)
    # truncation off: the extractor would otherwise cut silently at 300 s
    features = extractor(
        list(clips), sampling_rate=SAMPLE_RATE, padding="max_length", max_length=longest + WINDOW,
        truncation=False, return_attention_mask=True, return_tensors="pt",
    )  # fmt: skip
    frames = mel_frames(longest)
    return {
        "input_features": features.input_features[:, :, :frames],
        "feature_attention_mask": features.attention_mask[:, :frames],
    }


def pad(rows: Sequence[Sequence[int]], fill: int, side: Literal["left", "right"]) -> torch.Tensor:
    """(rows, longest) int64. Left padding is for generation, right for everything else."""
    width = max(len(row) for row in rows)
    gaps = [[fill] * (width - len(row)) for row in rows]
    return torch.tensor([[*gap, *row] if side == "left" else [*row, *gap] for row, gap in zip(rows, gaps)])


def prompt_batch(
    rows: Sequence[Sequence[int]],
    clips: Sequence[numpy.ndarray],
    extractor: Any,
    pad_id: int,
    side: Literal["left", "right"],
) -> dict[str, torch.Tensor]:
    """Model inputs for rows of ids whose audio placeholders belong to `clips`, in order over all rows."""
    return {
        "input_ids": pad(rows, pad_id, side),
        "attention_mask": pad([[1] * len(row) for row in rows], 0, side),
        **mel_features(extractor, clips),
    }


class Collator:
    """Encoded dialogues to a batch with `labels`; picklable, so that loader workers can run it."""

    def __init__(self, extractor: Any, pad_id: int) -> None:
        self._extractor = extractor
        self._pad_id = pad_id

    def __call__(self, batch: Sequence[Encoded]) -> dict[str, torch.Tensor]:
        clips = [clip for item in batch for clip in item.clips]
        inputs = prompt_batch([item.input_ids for item in batch], clips, self._extractor, self._pad_id, "right")
        return {**inputs, "labels": pad([item.labels for item in batch], IGNORED, "right")}
