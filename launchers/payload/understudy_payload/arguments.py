"""The manifest's training settings as transformers.TrainingArguments."""

from __future__ import annotations

import warnings
from typing import Any

from .manifest import TrainManifest
from .zero import deepspeed_config

SCHEDULES = {"cosine": "cosine", "linear": "linear", "constant": "constant_with_warmup"}


def training_arguments(manifest: TrainManifest, world_size: int, on_cpu: bool) -> Any:
    """Evaluation and saving follow the manifest; what happens at the last step is the callback's business."""
    from transformers import TrainingArguments

    training = manifest.training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TrainingArguments(
            output_dir=str(manifest.paths.output),
            max_steps=training.steps,
            per_device_train_batch_size=training.micro_batch,
            per_device_eval_batch_size=training.micro_batch,
            gradient_accumulation_steps=training.accumulation(world_size),
            learning_rate=training.learning_rate,
            weight_decay=training.weight_decay,
            max_grad_norm=training.max_grad_norm,
            lr_scheduler_type=SCHEDULES[training.schedule],
            warmup_steps=round(training.warmup_fraction * training.steps),
            eval_strategy="steps",
            eval_steps=training.eval_every_steps,
            save_strategy="steps",
            save_steps=training.save_every_steps,
            save_total_limit=None,  # which checkpoints to keep is decided where they are registered
            logging_steps=training.log_every_steps,
            logging_nan_inf_filter=False,  # a loss that is not a number must be seen
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            label_names=["labels"],
            use_cpu=on_cpu,
            bf16=training.precision == "bf16",
            gradient_checkpointing=training.gradient_checkpointing,
            gradient_checkpointing_kwargs={"use_reentrant": False} if training.gradient_checkpointing else None,
            ddp_find_unused_parameters=False,
            ddp_backend="gloo" if on_cpu and world_size > 1 else None,
            dataloader_num_workers=training.data_loader_workers,
            dataloader_pin_memory=not on_cpu,
            average_tokens_across_devices=True,
            deepspeed=deepspeed_config(training),
            seed=training.seed,
            data_seed=training.seed,
        )
