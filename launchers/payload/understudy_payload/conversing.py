"""A system talks through a pool of dialogues: turn by turn, with its own earlier replies as the history."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from .conversation import Encoder
from .generation import Prompt
from .readable import readable
from .shards import Dialogue
from .speaker import MODEL_ERRORS, Speaker, Speech, fatal


@dataclass(frozen=True)
class Answer:
    """One role turn. `text` stays whatever became of the audio; `failure` is {code, message} or None."""

    turn: int
    text: str
    text_tokens: int
    samples: numpy.ndarray | None
    latency_seconds: float
    failure: dict[str, str] | None


@dataclass
class Talk:
    """A dialogue under way: what was heard, what was said, and those answers that were not recorded before."""

    dialogue: Dialogue
    clips: list[numpy.ndarray] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


class Conversation:
    """Batches dialogues at the same turn, those of similar length together. Batches depend on the pool alone."""

    def __init__(self, speaker: Speaker, encoder: Encoder, batch: int) -> None:
        self._speaker = speaker
        self._encoder = encoder
        self._batch = batch

    def answer(
        self, pool: Sequence[Dialogue], recorded: Mapping[tuple[str, int], str], between: Callable[[], None]
    ) -> list[Talk]:
        """Answer every turn of every dialogue. `between` is called before each batch and may raise to end early.

        `recorded`: texts by (dialogue, turn). A recorded reply is history and gives no Answer; computed again, in a
        batch with others, it may differ in its last bits.
        """
        talks = [Talk(dialogue) for dialogue in pool]
        for number in range(max(len(dialogue.turns) for dialogue in pool)):
            waiting = [talk for talk in talks if number < len(talk.dialogue.turns)]
            prompts = [self._prompt(talk, number) for talk in waiting]
            order = sorted(range(len(waiting)), key=lambda at: (len(prompts[at].ids), waiting[at].dialogue.id))
            for start in range(0, len(order), self._batch):
                chosen = order[start : start + self._batch]
                keys = [(waiting[at].dialogue.id, waiting[at].dialogue.turns[number].index) for at in chosen]
                if all(key in recorded for key in keys):
                    for at, key in zip(chosen, keys):
                        waiting[at].replies.append(recorded[key])
                    continue
                between()
                began = time.perf_counter()
                replies = self._replies([prompts[at] for at in chosen])
                latency = (time.perf_counter() - began) / len(chosen)
                for at, key, (text, tokens, speech) in zip(chosen, keys, replies):
                    waiting[at].replies.append(recorded.get(key, text))
                    if key not in recorded:
                        answer = Answer(key[1], text, tokens, speech.samples, latency, speech.failure)
                        waiting[at].answers.append(answer)
        return talks

    def _prompt(self, talk: Talk, number: int) -> Prompt:
        """User audio up to this turn and the system's own replies before it. What the user said is heard, never read."""
        dialogue = talk.dialogue
        talk.clips.append(dialogue.samples(dialogue.turns[number]))
        ids = self._encoder.prompt(dialogue.system_prompt, talk.clips, talk.replies)
        return Prompt(f"{dialogue.id}/{dialogue.turns[number].index}", ids, list(talk.clips))

    def _replies(self, prompts: Sequence[Prompt]) -> list[tuple[str, int, Speech]]:
        """(text, tokens, speech) of each prompt."""
        try:
            written = self._speaker.write(prompts)
        except MODEL_ERRORS as error:
            if fatal(error):
                raise
            if len(prompts) > 1:  # one prompt may have spoiled the batch
                return [reply for prompt in prompts for reply in self._replies([prompt])]
            failure = {"code": "TEXT_FAILED", "message": f"{type(error).__name__}: {error}"}
            return [("", 0, Speech(None, failure))]
        decode = self._speaker.tokenizer.decode
        texts = [readable(decode(tokens, skip_special_tokens=True)) for tokens in written.tokens]
        speaking = [row for row, text in enumerate(texts) if text]
        spoken = dict(zip(speaking, self._speaker.speak(written, [prompt.name for prompt in prompts], speaking)))
        silent = Speech(None, {"code": "EMPTY_TEXT", "message": "the reply has no text"})
        return [(text, len(written.tokens[row]), spoken.get(row, silent)) for row, text in enumerate(texts)]
