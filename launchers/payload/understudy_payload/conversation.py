"""A dialogue as token ids: what the thinker reads (role card, user audio) and what it must say (role text).

ChatML, one piece at a time. `user_text` is nowhere an input: the model hears, it does not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from .errors import DataError
from .shards import Dialogue

IGNORED = -100
HOP = 160  # samples per mel frame


def mel_frames(samples: int) -> int:
    """Mel frames of a clip, 100 a second. A begun frame counts, as in the mask that the official extractor gives."""
    return -(-samples // HOP)


def audio_tokens(samples: int) -> int:
    """Placeholder tokens of a clip: its mel frames, halved by a convolution and again by pooling."""
    frames = mel_frames(samples)
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


@dataclass(frozen=True)
class Span:
    """Where the target of one role turn lies: `input_ids[start:end]`, `<|im_end|>` included."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True)
class Encoded:
    """One dialogue. `labels` has IGNORED everywhere but in the spans; `clips` are float32 samples in order of use."""

    input_ids: list[int]
    labels: list[int]
    clips: list[numpy.ndarray]
    spans: list[Span]
    dropped_turns: int


class Encoder:
    """Turns dialogues into ids. `preamble` comes first in every system turn."""

    def __init__(self, tokenizer: Any, preamble: str) -> None:
        self._tokenizer = tokenizer
        self._preamble = preamble
        self._start, self._end, self._audio, self._audio_start, self._audio_end = tokenizer.convert_tokens_to_ids(
            ["<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]
        )
        self._systems: dict[str, list[int]] = {}

    def text(self, text: str) -> list[int]:
        """Ids of text from the data. Markup in it stays text: a role that says `<|im_end|>` must not end its turn."""
        return self._tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids

    def system(self, system_prompt: str) -> list[int]:
        """The system turn: preamble, newline, role card; the preamble alone when the card is empty."""
        if system_prompt not in self._systems:  # a corpus repeats a few cards many times
            content = f"{self._preamble}\n{system_prompt}" if system_prompt else self._preamble
            self._systems[system_prompt] = self._turn("system", self.text(content))
        return self._systems[system_prompt]

    def user(self, samples: int) -> list[int]:
        """A user turn that is nothing but a clip of this many samples at 16 kHz."""
        count = audio_tokens(samples)
        if count < 1:
            raise DataError("AUDIO_TOO_SHORT", f"a clip of {samples} samples is too short to be heard")
        return self._turn("user", [self._audio_start, *[self._audio] * count, self._audio_end])

    def reply_start(self) -> list[int]:
        """What stands before the role speaks."""
        return [self._start, *self.text("assistant\n")]

    def target(self, role_text: str) -> list[int]:
        """What the role says, with the token that ends its turn."""
        return [*self.text(role_text), self._end]

    def prompt(self, system_prompt: str, clips: Sequence[numpy.ndarray], replies: Sequence[str]) -> list[int]:
        """Ids up to where the next reply begins: len(clips) user turns, len(clips) - 1 earlier replies."""
        ids = list(self.system(system_prompt))
        for number, clip in enumerate(clips):
            ids += [*self.user(len(clip)), *self.reply_start()]
            if number < len(replies):
                ids += [*self.target(replies[number]), *self._newline()]
        return ids

    def encode(self, dialogue: Dialogue, max_tokens: int | None = None) -> Encoded:
        """The whole dialogue. Over `max_tokens` the oldest whole turns go; DataError if the last alone is too long."""
        system = self.system(dialogue.system_prompt)
        parts = []
        for turn in dialogue.turns:
            clip = dialogue.samples(turn)
            parts.append((turn.index, clip, [*self.user(len(clip)), *self.reply_start()], self.target(turn.text)))
        end = len(self._newline())
        lengths = [len(before) + len(target) + end for _, _, before, target in parts]
        dropped = 0
        while max_tokens is not None and len(system) + sum(lengths[dropped:]) > max_tokens:
            dropped += 1
            if dropped == len(parts):
                raise DataError(
                    "DIALOGUE_TOO_LONG",
                    f"dialogue {dialogue.id}: its last turn alone needs {len(system) + lengths[-1]} tokens, "
                    f"maxTokens is {max_tokens}",
                    "raise training.maxTokens or remove the dialogue",
                )
        ids, labels, spans = list(system), [IGNORED] * len(system), []
        for index, _, before, target in parts[dropped:]:
            start = len(ids) + len(before)
            spans.append(Span(index, start, start + len(target)))
            ids += [*before, *target, *self._newline()]
            labels += [*[IGNORED] * len(before), *target, *[IGNORED] * end]
        return Encoded(ids, labels, [clip for _, clip, _, _ in parts[dropped:]], spans, dropped)

    def _turn(self, speaker: str, content: list[int]) -> list[int]:
        return [self._start, *self.text(f"{speaker}\n"), *content, self._end, *self._newline()]

    def _newline(self) -> list[int]:
        return self.text("\n")
