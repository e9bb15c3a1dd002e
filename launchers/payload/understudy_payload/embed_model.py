"""A transformer as a sentence encoder, as sentence-transformers computes it: token vectors, then their mean or the first.

A text's vector must not depend on the texts that are computed with it, or a run that was killed and went on would give
other data than one that was not. So a text is padded to the next multiple of PAD_TOKENS, never to its neighbours' length.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import torch
from transformers import AutoModel, AutoTokenizer

from .errors import CheckpointError
from .model_folder import check_model_folder
from .modeling import pick_device

PAD_TOKENS = 16
TOKENS_AT_ONCE = {"cpu": 1024, "cuda": 32_768}


class TextEncoder:
    """Loads once, in float32. CheckpointError when the folder is no whole model; OSError and the like from the loaders."""

    def __init__(
        self, folder: Path, *, pooling: str, max_tokens: int, lower_case: bool, device: str, threads: int
    ) -> None:
        if (folder / "model.safetensors").is_file() or (folder / "model.safetensors.index.json").is_file():
            check_model_folder(folder)
        self._device = pick_device(device)
        torch.set_num_threads(threads)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        # eager: plain products, whose result for a row does not hang on the other rows
        model = AutoModel.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32, attn_implementation="eager"
        )
        self._model: Any = model.eval().to(self._device)
        self._pooling = pooling
        self._lower_case = lower_case
        self._max_tokens = max_tokens
        self._positions: int = model.config.max_position_embeddings
        if max_tokens > self._positions:
            message = f"{folder} has {self._positions} positions, but texts are to be cut at {max_tokens} tokens"
            raise CheckpointError("EMBEDDING_MODEL_INVALID", message)

    @torch.inference_mode()
    def encode(self, texts: list[str]) -> numpy.ndarray:
        """float32, shape (texts, dimension), not normalised."""
        tokens = [self._tokens(text) for text in texts]
        vectors: list[torch.Tensor | None] = [None] * len(texts)
        for rows, length in batches([len(ids) for ids in tokens], TOKENS_AT_ONCE[self._device.type]):
            pooled = self._forward([tokens[row] for row in rows], min(length, self._positions)).cpu()
            for row, vector in zip(rows, pooled, strict=True):
                vectors[row] = vector
        return torch.stack([vector for vector in vectors if vector is not None]).numpy()

    def _tokens(self, text: str) -> list[int]:
        said = text.strip()
        said = said.lower() if self._lower_case else said
        ids: list[int] = self._tokenizer(said, truncation=True, max_length=self._max_tokens)["input_ids"]
        return ids

    def _forward(self, tokens: list[list[int]], length: int) -> torch.Tensor:
        padding = self._tokenizer.pad_token_id or 0
        ids = torch.full((len(tokens), length), padding, dtype=torch.long)
        mask = torch.zeros((len(tokens), length), dtype=torch.long)
        for row, of_text in enumerate(tokens):
            ids[row, : len(of_text)] = torch.tensor(of_text)
            mask[row, : len(of_text)] = 1
        mask = mask.to(self._device)
        states = self._model(input_ids=ids.to(self._device), attention_mask=mask).last_hidden_state
        if self._pooling == "cls":
            return states[:, 0]
        weights = mask.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)


def batches(lengths: list[int], tokens_at_once: int) -> Iterator[tuple[list[int], int]]:
    """(rows, padded length) of texts that are computed together: all have the same padded length."""
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(-(-length // PAD_TOKENS) * PAD_TOKENS, []).append(row)
    for padded, rows in sorted(by_length.items()):
        most = max(1, tokens_at_once // padded)
        for start in range(0, len(rows), most):
            yield rows[start : start + most], padded
