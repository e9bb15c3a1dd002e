"""Training data: dialogues encoded on access, and what `maxTokens` will cut, counted before training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from .conversation import Encoded, Encoder
from .errors import InWorker, PayloadError
from .shards import Shards
from .wav import SAMPLE_RATE

TOKENS_PER_SECOND = 25


class Dialogues(torch.utils.data.Dataset):
    """Map-style, so that a resumed run skips what it has seen without decoding it."""

    def __init__(self, paths: Sequence[Path], encoder: Encoder, max_tokens: int) -> None:
        self._shards = Shards(paths)
        self._encoder = encoder
        self._max_tokens = max_tokens

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, position: int) -> Encoded:
        try:
            return self._encoder.encode(self._shards[position], self._max_tokens)
        except PayloadError as error:
            if torch.utils.data.get_worker_info() is None:
                raise
            raise InWorker.carrying(error) from error

    def truncated(self) -> tuple[int, int]:
        """(dialogues, turns) that lose text to `maxTokens`. Reads text columns; audio only of candidates."""
        dialogues = turns = 0
        for position in self._candidates():
            dropped = self[position].dropped_turns
            dialogues += dropped > 0
            turns += dropped
        return dialogues, turns

    def _candidates(self) -> Iterator[int]:
        frame = len(self._encoder.user(SAMPLE_RATE)) - TOKENS_PER_SECOND + len(self._encoder.reply_start())
        for position, row in self._shards.rows("system_prompt", "audio_seconds", "turns.role_text"):
            texts = [turn["role_text"] or "" for turn in row["turns"] or ()]
            # a byte is at least as long as a token: most dialogues are cleared without tokenizing
            most = sum(len(text.encode()) for text in texts)
            around = len(self._encoder.system(row["system_prompt"] or ""))
            around += len(texts) * (frame + 3) + int((row["audio_seconds"] or 0) * TOKENS_PER_SECOND) + 1
            if around + most > self._max_tokens:
                most = sum(len(self._encoder.text(text)) for text in texts)
            if around + most > self._max_tokens:
                yield position
