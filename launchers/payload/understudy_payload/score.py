"""`score`: how likely each role turn's reference is, given the card, the user's audio and the reference so far."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from .collate import Collator
from .conversation import Encoded, Encoder
from .errors import DataError
from .job import Job
from .likelihood import LabelLikelihood
from .manifest import ScoreManifest
from .model_folder import check_model_folder
from .modeling import dtype_of, load_extractor, load_system, load_tokenizer, pick_device
from .progress import Progress
from .sections import Task
from .shards import Dialogue, Shards
from .tasks import ResultFile


def score(manifest: ScoreManifest, job: Job) -> None:
    """Finish every task that is not done. Stopped when asked to, between batches."""
    check_model_folder(manifest.model.path)
    scorer = Scorer(manifest)
    job.started(scorer.device.type)
    instances = 0
    for task in manifest.tasks:
        results = ResultFile(task.output, "scores.jsonl", job.fence)
        if not results.done:
            results.open()
            _score_task(task, results, scorer, manifest.scoring.batch, job)
            results.finish()
        else:
            results.open()
        instances += len(results.rows)
    job.events.write("finished", instances=instances)


def _score_task(task: Task, results: ResultFile, scorer: Scorer, size: int, job: Job) -> None:
    shards = Shards(task.suite.shards)
    positions = shards.of_roles(task.suite.roles)
    if not positions:
        raise DataError("SUITE_EMPTY", f"suite {task.suite.id}: no dialogue of its roles in its shards")
    there, progress = results.keys(), Progress(job, task, "dialogues", len(positions))
    for start in range(0, len(positions), size):
        progress.pause(start)
        # Batches are the same after a restart: padding changes the last bits of a score.
        batch = [shards[position] for position in positions[start : start + size]]
        if not all((dialogue.id, turn.index) in there for dialogue in batch for turn in dialogue.turns):
            rows = scorer.rows(batch, task.system.checkpoint)
            results.append(row for row in rows if (row["dialogue"], row["turn"]) not in there)
        progress.report(start + len(batch))


class Scorer:
    """Scores batches of dialogues with one system after the other; weights are loaded when a batch needs them."""

    def __init__(self, manifest: ScoreManifest) -> None:
        self.device = pick_device(manifest.device)
        self._model_path = manifest.model.path
        self._dtype = dtype_of(manifest.scoring.precision)
        tokenizer = load_tokenizer(manifest.model.path)
        self._encoder = Encoder(tokenizer, manifest.prompt.preamble)
        self._collate = Collator(load_extractor(manifest.model.path), tokenizer.pad_token_id)
        self._loaded: tuple[Path | None, Any, LabelLikelihood] | None = None

    def rows(self, batch: list[Dialogue], checkpoint: Path | None) -> Iterator[dict[str, Any]]:
        """One row per role turn, in order. `nll` is a sum in nats over `tokens`, the turn's end token included."""
        model, likelihood = self._system(checkpoint)
        encoded = [self._encoder.encode(dialogue) for dialogue in batch]
        inputs = {name: value.to(self.device) for name, value in self._collate(encoded).items()}
        inputs["input_features"] = inputs["input_features"].to(self._dtype)
        with torch.inference_mode():
            losses = likelihood.losses(model, inputs).double().cpu()
        return self._split(batch, encoded, losses)

    def _split(
        self, batch: list[Dialogue], encoded: list[Encoded], losses: torch.Tensor
    ) -> Iterator[dict[str, Any]]:
        position = 0
        for dialogue, item in zip(batch, encoded):
            for span in item.spans:
                tokens = span.end - span.start
                yield {
                    "dialogue": dialogue.id,
                    "role": dialogue.role,
                    "language": dialogue.language,
                    "kind": dialogue.kind,
                    "turn": span.turn,
                    "tokens": tokens,
                    "nll": losses[position : position + tokens].sum().item(),
                }
                position += tokens

    def _system(self, checkpoint: Path | None) -> tuple[Any, LabelLikelihood]:
        if self._loaded is None or self._loaded[0] != checkpoint:
            self._loaded = None  # frees the previous system before the next is read
            model = load_system(self._model_path, checkpoint, self._dtype).to(self.device)
            self._loaded = (checkpoint, model, LabelLikelihood(model))
        return self._loaded[1], self._loaded[2]
