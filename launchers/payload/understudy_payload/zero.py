"""DeepSpeed configuration. ZeRO stage 2 is the safe choice: stage 3 hangs when ranks run different modules."""

from __future__ import annotations

from typing import Any

from .sections import Training

BUCKET = 200_000_000  # elements


def deepspeed_config(training: Training) -> dict[str, Any] | None:
    """Config dictionary for `TrainingArguments(deepspeed=...)`, or None for plain DDP. Trainer fills in "auto"."""
    if training.zero == 0:
        return None
    return {
        "bf16": {"enabled": training.precision == "bf16"},
        "zero_optimization": {
            "stage": training.zero,
            "overlap_comm": False,
            "contiguous_gradients": True,
            "reduce_scatter": True,
            "reduce_bucket_size": BUCKET,
            "allgather_bucket_size": BUCKET,
        },
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
    }
