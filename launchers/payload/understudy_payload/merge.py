"""`merge`: a checkpoint and its base become one loadable model folder.

Works file by file on the base's own safetensors: names, dtypes and everything but the thinker's changed weights stay
byte for byte (talker, vocoder, voices, tokenizer), and no more than one weight file is in memory.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from .errors import CheckpointError, Stopped
from .files import exists, staged, sweep, write_json
from .job import Job
from .manifest import MergeManifest
from .marker import DONE, file_facts
from .model_folder import check_model_folder
from .modeling import checkpoint_kind, explained, load_omni
from .revision import revision_of

PREFIX = "thinker."
VARIANTS = ("use_rslora", "use_dora", "rank_pattern", "alpha_pattern", "fan_in_fan_out")
Change = Callable[[str, torch.Tensor], torch.Tensor]


def merge(manifest: MergeManifest, job: Job) -> None:
    """Write the merged model to `paths.output`, load it once as proof, then write `_DONE.json`."""
    check_model_folder(manifest.model.path)
    job.started("cpu")
    output = manifest.paths.output
    if not exists(output / DONE):
        job.fence.check()
        output.mkdir(parents=True, exist_ok=True)
        sweep(output)
        with explained(manifest.checkpoint):
            change, used = _changes(manifest.checkpoint)
        with explained(manifest.model.path):
            # the proof that another merge has left in its result is none of this one
            files = sorted(path for path in manifest.model.path.iterdir() if path.is_file() and path.name != DONE)
        for number, path in enumerate(files):
            if reason := job.stop.reason():
                raise Stopped(reason, done=number, total=len(files))
            job.fence.check()
            # by a name of its own: an attempt that was fenced in the middle must not write into its successor's file
            with staged(output / path.name, job.fence.check) as temporary:
                if path.suffix == ".safetensors":
                    _rewrite(path, temporary, change)
                else:
                    shutil.copyfile(path, temporary)
        _check(manifest, used)
        load_omni(output, torch.bfloat16)
        facts = file_facts(output)
        revision = revision_of({name: each["sha256"] for name, each in facts.items()})
        # hashing took minutes, so the fence is read again right before the marker gets its name
        write_json(output / DONE, {"schemaVersion": 1, "revision": revision, "files": facts}, job.fence.check)
    job.events.write("finished", instances=1)


def _rewrite(source: Path, target: Path, change: Change) -> None:
    with safe_open(source, framework="pt") as file:
        tensors = {name: change(name, file.get_tensor(name)) for name in file.keys()}
        metadata = file.metadata()
    save_file(tensors, target, metadata)


def _changes(checkpoint: Path) -> tuple[Change, _Used]:
    kind = checkpoint_kind(checkpoint)
    return _adapter_changes(checkpoint) if kind == "adapter" else _full_changes(checkpoint)


class _Used:
    """Which of a checkpoint's weights found their place in the base."""

    def __init__(self, wanted: set[str]) -> None:
        self.missing = wanted


def _full_changes(checkpoint: Path) -> tuple[Change, _Used]:
    weights: dict[str, Any] = {}
    for path in sorted(checkpoint.glob("*.safetensors")):
        file = safe_open(path, framework="pt")
        weights.update({PREFIX + name: file for name in file.keys()})
    used = _Used(set(weights))

    def change(name: str, base: torch.Tensor) -> torch.Tensor:
        if name not in weights:
            return base
        used.missing.discard(name)
        return weights[name].get_tensor(name.removeprefix(PREFIX)).to(base.dtype)

    return change, used


def _adapter_changes(checkpoint: Path) -> tuple[Change, _Used]:
    config = json.loads((checkpoint / "adapter_config.json").read_text(encoding="utf-8"))
    variants = [key for key in VARIANTS if config.get(key)]
    if config.get("peft_type") != "LORA" or variants:
        raise CheckpointError("ADAPTER_FOREIGN", f"{checkpoint}: only plain LoRA can be merged, found {variants}")
    scaling = config["lora_alpha"] / config["r"]
    file = safe_open(checkpoint / "adapter_model.safetensors", framework="pt")
    inside = "base_model.model."
    pairs = {
        PREFIX + name.removeprefix(inside).replace(".lora_A.weight", ".weight"): name
        for name in file.keys()
        if ".lora_A." in name
    }
    used = _Used(set(pairs))

    def change(name: str, base: torch.Tensor) -> torch.Tensor:
        if name not in pairs:
            return base
        used.missing.discard(name)
        down = file.get_tensor(pairs[name]).float()
        up = file.get_tensor(pairs[name].replace(".lora_A.", ".lora_B.")).float()
        return base + ((up @ down) * scaling).to(base.dtype)

    return change, used


def _check(manifest: MergeManifest, used: _Used) -> None:
    if used.missing:
        raise CheckpointError(
            "MERGE_MISFIT",
            f"{len(used.missing)} weights of {manifest.checkpoint} have no place in {manifest.model.path}, "
            f"for example {min(used.missing)}",
            "merge with the base model that the checkpoint was trained from",
        )
    if not exists(manifest.model.path / "spk_dict.pt"):
        raise CheckpointError("VOICES_MISSING", f"{manifest.model.path} has no spk_dict.pt", "stage the whole folder")
