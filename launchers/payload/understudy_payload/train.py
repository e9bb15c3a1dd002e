"""`train`: fine-tune the thinker, from the newest complete checkpoint when there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback

from . import world
from .arguments import training_arguments
from .boundary import Boundary
from .collate import Collator
from .conversation import Encoder
from .dialogues import Dialogues
from .errors import DataError, Stopped
from .job import Job
from .log_lines import LogLines
from .manifest import TrainManifest
from .model_folder import check_model_folder
from .modeling import add_lora, dtype_of, freeze_towers, load_extractor, load_thinker, load_tokenizer, pick_device
from .resume import Found, check_world, newest_complete, see
from .trainer import OmniTrainer

# Needed to load a checkpoint as a model, and not written by save_pretrained of model or tokenizer.
EXTRAS = ("preprocessor_config.json",)


def train(manifest: TrainManifest, job: Job) -> None:
    """Run to the planned step. Stopped when asked to (saved), Fenced when another attempt took over."""
    check_model_folder(manifest.model.path)
    device = pick_device(manifest.device)
    arguments = training_arguments(manifest, world.world_size(), device.type == "cpu")
    arguments.device  # noqa: B018 - reading it joins the process group
    job.started(device.type)
    tokenizer, train_set, dev_set = _data(manifest)
    if world.rank() == 0:
        _report_truncation(job, train_set, dev_set)
    found = _newest(manifest, job, arguments)
    if found:
        job.events.write("resumed", step=found.step, checkpoint=found.folder.name, digests=found.digests)
    step = found.step if found else 0
    if step < manifest.training.steps:
        # all ranks or none: one that starts training alone would wait for the others for ever
        reason = world.agree_on_stop(job.stop.reason(), arguments.device)
        folder = found and found.folder
        step = _run(manifest, job, arguments, tokenizer, (train_set, dev_set), folder, reason or "", step)
    job.events.write("finished", step=step)


def _newest(manifest: TrainManifest, job: Job, arguments: Any) -> Found | None:
    """One rank chooses: two that look at a failing disk may see different checkpoints."""
    first = world.rank() == 0
    found = world.share(newest_complete(manifest.paths.output, job.events) if first else None, arguments.device)
    if found:
        check_world(found, manifest.training.zero, world.world_size())
        if not first:
            see(found)
    return found


def _run(
    manifest: TrainManifest,
    job: Job,
    arguments: Any,
    tokenizer: Any,
    data: tuple[Dialogues, Dialogues],
    checkpoint: Path | None,
    asked: str,
    step: int,
) -> int:
    if asked:
        raise Stopped(asked, step=step)
    boundary = Boundary(job.events, job.stop)
    trainer = OmniTrainer(
        model=_model(manifest),
        args=arguments,
        train_dataset=data[0],
        eval_dataset=data[1],
        data_collator=Collator(load_extractor(manifest.model.path), tokenizer.pad_token_id),
        processing_class=tokenizer,
        callbacks=[boundary],
        events=job.events,
        fence=job.fence,
        kind="adapter" if manifest.training.mode == "lora" else "full",
        extras=[manifest.model.path / name for name in EXTRAS],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(LogLines)
    result = trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    if boundary.stopped:
        raise Stopped(boundary.stopped, step=result.global_step)
    return result.global_step


def _data(manifest: TrainManifest) -> tuple[Any, Dialogues, Dialogues]:
    tokenizer = load_tokenizer(manifest.model.path)
    encoder = Encoder(tokenizer, manifest.prompt.preamble)
    train_set, dev_set = (
        Dialogues(paths, encoder, manifest.training.max_tokens) for paths in (manifest.data.train, manifest.data.dev)
    )
    for name, split in (("train", train_set), ("dev", dev_set)):
        if not len(split):
            raise DataError("SPLIT_EMPTY", f"data.{name} holds no dialogue", "choose other roles or shards")
    return tokenizer, train_set, dev_set


def _report_truncation(job: Job, *splits: Dialogues) -> None:
    counts = [split.truncated() for split in splits]
    dialogues, turns = (sum(each) for each in zip(*counts))
    if dialogues:
        job.events.write("truncated", dialogues=dialogues, turns=turns)


def _model(manifest: TrainManifest) -> Any:
    training = manifest.training
    # full training steps on fp32 master weights; under LoRA the base never moves, so half the memory is enough
    dtype = dtype_of(training.precision) if training.mode == "lora" else torch.float32
    torch.manual_seed(training.seed)  # the adapter's random half must not depend on what ran before
    thinker = load_thinker(manifest.model.path, dtype)
    thinker.config.use_cache = thinker.config.text_config.use_cache = False
    freeze_towers(thinker)
    if training.mode == "full":
        return thinker
    return add_lora(thinker, training.lora, training.gradient_checkpointing)
