"""Models, checkpoints and manifests for tests of `infer` and `measure`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from understudy_payload.marker import write_marker
from understudy_payload.modeling import add_lora, load_thinker
from understudy_payload.sections import Lora

from . import jobs

DECODING = {
    "maxNewTokens": 12, "talkerMaxNewTokens": 25, "temperature": 0, "seed": 5, "batch": 3, "token2wavSteps": 2,
}  # fmt: skip


def adapter(model: Path, folder: Path) -> Path:
    """A complete checkpoint of kind `adapter` that changes what the model says."""
    torch.manual_seed(1)
    tuned = add_lora(load_thinker(model, torch.float32), Lora(8, 16.0, 0.0), False)
    for name, parameter in tuned.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.5)
    tuned.save_pretrained(folder)
    write_marker(folder, {"step": 1, "kind": "adapter"}, lambda: None)
    return folder


def full(model: Path, folder: Path) -> Path:
    """A complete checkpoint of kind `full` that changes what the model says."""
    torch.manual_seed(2)
    thinker = load_thinker(model, torch.float32)
    for parameter in thinker.model.parameters():
        parameter.data += torch.randn_like(parameter) * 0.1
    thinker.save_pretrained(folder)
    write_marker(folder, {"step": 1, "kind": "full"}, lambda: None)
    return folder


def task(name: str, output: Path, shard: Path, roles: list[str], checkpoint: Path | None = None) -> dict[str, Any]:
    return {
        "system": {"id": name, "checkpoint": checkpoint and str(checkpoint), "speaker": "Ethan"},
        "suite": {"id": "test/seen", "shards": [str(shard)], "roles": roles},
        "output": str(output),
    }


def infer_manifest(folder: Path, model: Path, tasks: list[dict[str, Any]], **decoding: Any) -> dict[str, Any]:
    return jobs.manifest("infer", folder, model, tasks=tasks, decoding={**DECODING, **decoding})


def rows(folder: Path, name: str = "answers.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def lasting(folder: Path) -> list[dict[str, Any]]:
    """Rows without what a clock decides."""
    return [{key: value for key, value in row.items() if key != "latencySeconds"} for row in rows(folder)]


def rows_or_none(folder: Path) -> list[dict[str, Any]]:
    return rows(folder) if (folder / "answers.jsonl").exists() else []
