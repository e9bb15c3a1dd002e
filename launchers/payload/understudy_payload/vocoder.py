"""Codec ids to samples with the frozen vocoder, and the reasons why there may be none."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from .answer_audio import quantise

NO_AUDIO = ("NO_AUDIO", "the talker ended before its first code")


class SpeechError(Exception):
    """No usable audio. `code` is stable for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@torch.inference_mode()
def samples_of(omni: Any, voice: dict[str, Any], codes: torch.Tensor, seed: int, steps: int) -> numpy.ndarray:
    """int16 samples at 24 kHz of codes of shape (n,), 480 a code. `steps`: points in time of the flow solver, at least 2.

    The solver starts from noise, which `seed` fixes. SpeechError when there are no codes or no finite samples.
    """
    if not len(codes):
        raise SpeechError(*NO_AUDIO)
    device = codes.device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        wave = omni.token2wav(
            codes[None],
            conditioning=voice["cond"].to(device).float(),
            reference_mel=voice["ref_mel"].to(device).float(),
            num_steps=steps,
        )
    samples = wave.reshape(-1).float().cpu().numpy()
    if not len(samples):
        raise SpeechError("NO_AUDIO", "the vocoder returned no samples")
    if not numpy.isfinite(samples).all():
        raise SpeechError("AUDIO_NOT_FINITE", "the vocoder returned samples that are not finite numbers")
    return quantise(samples)
