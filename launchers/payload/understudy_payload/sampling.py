"""Sampling whose chance belongs to a dialogue turn, not to a batch.

Greedy choice over logits with Gumbel noise is sampling from their softmax. The noise of each row comes from a generator
of its own, so that neither the neighbours in a batch nor a restart change what a row draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)


def seed_of(*parts: str | int) -> int:
    """A seed from names and numbers: 63 bits, the same on every machine."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def sampler(
    seeds: Sequence[int], device: torch.device, temperature: float, top_k: int = 0, top_p: float = 1.0
) -> LogitsProcessorList:
    """Processors for `generate(do_sample=False)`, one seed a row. Temperature 0 is greedy: no processor at all."""
    steps = LogitsProcessorList()
    if temperature > 0:
        steps.append(TemperatureLogitsWarper(temperature))
        if top_k > 0:
            steps.append(TopKLogitsWarper(top_k))
        if top_p < 1:
            steps.append(TopPLogitsWarper(top_p))
        steps.append(SeededNoise(seeds, device))
    return steps


class SeededNoise(LogitsProcessor):
    """Adds Gumbel noise to logits of shape (rows, vocabulary)."""

    def __init__(self, seeds: Sequence[int], device: torch.device) -> None:
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        noise = torch.empty_like(scores)
        for row, generator in zip(noise, self._generators):
            row.exponential_(generator=generator)
        # a draw of exactly nothing would choose its token whatever its score
        return scores - noise.clamp_(min=torch.finfo(noise.dtype).tiny).log()
