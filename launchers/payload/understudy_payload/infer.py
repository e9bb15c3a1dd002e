"""`infer`: a system's answers to every turn of a suite, as text and speech."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .answer_audio import RATE, audio_digest, audio_name, write_wav
from .conversation import Encoder
from .conversing import Answer, Conversation, Talk
from .errors import DataError
from .job import Job
from .manifest import InferManifest
from .model_folder import check_model_folder
from .progress import Progress
from .sections import Task
from .shards import Dialogue, Shards
from .speaker import Speaker
from .stopping import Fence
from .tasks import ResultFile

# Rows are written in order of dialogues, batches are made of similar lengths: the larger the pool, the less padding,
# and the more is answered again after an interruption.
POOL_BATCHES = 4


def infer(manifest: InferManifest, job: Job) -> None:
    """Finish every task that is not done. Stopped when asked to, between batches."""
    check_model_folder(manifest.model.path)
    speaker = Speaker(manifest)
    job.fence.check()
    job.started(speaker.device.type)
    encoder = Encoder(speaker.tokenizer, manifest.prompt.preamble)
    conversation = Conversation(speaker, encoder, manifest.decoding.batch)
    instances = 0
    for task in manifest.tasks:
        results = ResultFile(task.output, "answers.jsonl", job.fence)
        done = results.done
        results.open()
        if not done:
            _infer_task(task, results, speaker, conversation, manifest.decoding.batch * POOL_BATCHES, job)
            results.finish(audioSha256=audio_digest(results.rows))
        instances += len(results.rows)
    job.events.write("finished", instances=instances)


def _infer_task(
    task: Task, results: ResultFile, speaker: Speaker, conversation: Conversation, size: int, job: Job
) -> None:
    shards = Shards(task.suite.shards)
    positions = shards.of_roles(task.suite.roles)
    if not positions:
        raise DataError("SUITE_EMPTY", f"suite {task.suite.id}: no dialogue of its roles in its shards")
    progress = Progress(job, task, "dialogues", len(positions))
    # rows of a pool that an interruption cut in two: what was said stays said
    recorded = {(row["dialogue"], row["turn"]): row["text"] for row in results.rows}
    for start in range(0, len(positions), size):
        progress.pause(start)
        # The same pools after a restart give the same batches: padding changes the last bits of a logit.
        pool = [shards[position] for position in positions[start : start + size]]
        if not all((dialogue.id, turn.index) in recorded for dialogue in pool for turn in dialogue.turns):
            speaker.become(task.system)
            talks = conversation.answer(pool, recorded, lambda done=start: progress.pause(done))
            results.append(_rows(talks, task.output, job))
        progress.report(start + len(pool))


def _rows(talks: list[Talk], folder: Path, job: Job) -> Iterator[dict[str, Any]]:
    """Rows of new answers in order; the audio of a row is on disk before its row is. Fenced between two of them."""
    for talk in talks:
        for answer in talk.answers:
            job.fence.check()
            yield _row(talk.dialogue, answer, folder, job.fence)


def _row(dialogue: Dialogue, answer: Answer, folder: Path, fence: Fence) -> dict[str, Any]:
    audio = digest = None
    seconds = 0.0
    if answer.samples is not None:
        audio = audio_name(dialogue.id, answer.turn)
        digest = write_wav(folder / audio, answer.samples, fence.check)
        seconds = len(answer.samples) / RATE
    return {
        "dialogue": dialogue.id,
        "role": dialogue.role,
        "language": dialogue.language,
        "kind": dialogue.kind,
        "turn": answer.turn,
        "text": answer.text,
        "audio": audio,
        "sha256": digest,
        "seconds": seconds,
        "textTokens": answer.text_tokens,
        "latencySeconds": round(answer.latency_seconds, 6),
        "failure": answer.failure,
    }
