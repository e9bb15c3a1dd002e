"""Loading Qwen2.5-Omni: the thinker to train and score, the whole model to speak, checkpoints onto either.

Every loader reads local folders only. CheckpointError says which folder is unusable and why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError

from .errors import CheckpointError, DeviceLost
from .faults import fault
from .files import is_folder
from .marker import MARKER
from .sections import Lora

TOWERS = ("audio_tower.", "visual.")
# Language-model projections only: bare suffixes would also hit the audio and vision towers.
LORA_TARGETS = r"model\.layers\.\d+\.(self_attn\.(q|k|v|o)_proj|mlp\.(gate|up|down)_proj)"

# One entry for each GPU that the driver knows, whether it works or not.
GPUS = Path("/proc/driver/nvidia/gpus")

Precision = Literal["bf16", "fp32"]


def pick_device(wanted: str) -> torch.device:
    """`auto` takes CUDA when present."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        if GPUS.is_dir() and any(GPUS.iterdir()) and torch.version.cuda:
            raise DeviceLost(f"this machine has GPUs, but none can be used: {_cuda_says()}")
        raise CheckpointError("NO_CUDA", "device is cuda, but this machine shows none", "set device to auto or cpu")
    return torch.device(wanted)


def _cuda_says() -> str:
    try:
        torch.cuda.init()
    except Exception as error:
        return str(error)
    return "torch does not say why"


def dtype_of(precision: Precision) -> torch.dtype:
    return torch.bfloat16 if precision == "bf16" else torch.float32


def load_tokenizer(path: Path) -> Any:
    from transformers import Qwen2TokenizerFast

    with explained(path):
        return Qwen2TokenizerFast.from_pretrained(path, local_files_only=True)


def load_extractor(path: Path) -> Any:
    from transformers.models.whisper.feature_extraction_whisper import WhisperFeatureExtractor

    with explained(path):
        return WhisperFeatureExtractor.from_pretrained(path, local_files_only=True)


def load_thinker(path: Path, dtype: torch.dtype) -> Any:
    """The thinker of a full omni folder, or of a checkpoint of kind `full`; talker and vocoder weights are not read."""
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import Qwen2_5OmniThinkerForConditionalGeneration

    with explained(path):
        return Qwen2_5OmniThinkerForConditionalGeneration.from_pretrained(path, dtype=dtype, local_files_only=True)


def load_omni(path: Path, dtype: torch.dtype, checkpoint: Path | None = None) -> Any:
    """The whole model with a checkpoint's weights in its thinker. The vocoder stays fp32: bf16 makes it noisy."""
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import Qwen2_5OmniForConditionalGeneration

    with explained(path):
        model = Qwen2_5OmniForConditionalGeneration.from_pretrained(path, dtype=dtype, local_files_only=True)
    model.token2wav.float()
    if checkpoint is not None:
        model.thinker = apply_checkpoint(model.thinker, checkpoint)
    return model.eval()


def load_system(path: Path, checkpoint: Path | None, dtype: torch.dtype) -> Any:
    """The thinker of a system to score: the base model, or the base with a checkpoint applied."""
    if checkpoint is not None and checkpoint_kind(checkpoint) == "full":
        return load_thinker(checkpoint, dtype).eval()
    thinker = load_thinker(path, dtype)
    return (thinker if checkpoint is None else apply_checkpoint(thinker, checkpoint)).eval()


def apply_checkpoint(thinker: Any, checkpoint: Path) -> Any:
    """Return the thinker with the checkpoint's weights; an adapter is folded into the base weights."""
    with explained(checkpoint):
        if checkpoint_kind(checkpoint) == "adapter":
            from peft import PeftModel

            return PeftModel.from_pretrained(thinker, checkpoint).merge_and_unload()
        thinker.load_state_dict(load_thinker(checkpoint, thinker.dtype).state_dict())
    return thinker


def checkpoint_kind(checkpoint: Path) -> Literal["adapter", "full"]:
    """What a complete checkpoint holds, as its marker says."""
    try:
        kind = json.loads((checkpoint / MARKER).read_text(encoding="utf-8"))["kind"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        if fault(error):
            raise
        raise CheckpointError(
            "CHECKPOINT_INCOMPLETE", f"{checkpoint} has no readable {MARKER}", "take a complete checkpoint"
        ) from error
    return kind


def freeze_towers(thinker: Any) -> None:
    """Only the language model learns."""
    for name, parameter in thinker.named_parameters():
        if name.startswith(TOWERS):
            parameter.requires_grad_(False)


def add_lora(thinker: Any, lora: Lora, gradient_checkpointing: bool) -> Any:
    """Wrap with fp32 adapters on the language model's projections; everything else is frozen."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules=LORA_TARGETS,
        task_type="CAUSAL_LM",
    )  # fmt: skip
    model = get_peft_model(thinker, config)
    if gradient_checkpointing:
        model.enable_input_require_grads()  # a frozen embedding would otherwise cut the checkpointed layers off
    return model


class explained:
    """Turns what loading libraries raise into a CheckpointError that names the folder, but not what the machine did."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        if not is_folder(self._path):
            raise CheckpointError("MODEL_MISSING", f"{self._path} is not a folder", "stage the model first")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        ours = (OSError, ValueError, KeyError, RuntimeError, SafetensorError)
        if isinstance(error, ours) and fault(error) is None:
            hint = "stage it again: it is damaged, or of another kind"
            raise CheckpointError("MODEL_UNREADABLE", f"{self._path} cannot be loaded: {error}", hint) from error
