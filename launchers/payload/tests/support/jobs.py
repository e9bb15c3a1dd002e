"""Manifests and runs of the payload for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PREAMBLE = "You are a virtual human."
TOKEN = "attempt-1"
TRAINING = {
    "mode": "lora",
    "precision": "bf16",
    "learningRate": 0.01,
    "weightDecay": 0.0,
    "maxGradNorm": 1.0,
    "schedule": "cosine",
    "warmupFraction": 0.1,
    "steps": 8,
    "globalBatch": 4,
    "microBatch": 4,
    "evalEverySteps": 4,
    "saveEverySteps": 2,
    "logEverySteps": 1,
    "maxTokens": 2048,
    "gradientCheckpointing": False,
    "lora": {"rank": 8, "alpha": 16, "dropout": 0.05},
    "zero": 0,
    "dataLoaderWorkers": 0,
    "seed": 3,
}


def manifest(kind: str, folder: Path, model: Path, **parts: Any) -> dict[str, Any]:
    """A complete manifest whose files lie in `folder`."""
    return {
        "schemaVersion": 1,
        "kind": kind,
        "run": "run-test",
        "attempt": {"number": 1, "token": TOKEN},
        "paths": {
            "output": str(folder / "output"),
            "events": str(folder / "events.jsonl"),
            "stop": str(folder / "STOP"),
            "fence": str(folder / "fence"),
        },
        "device": "cpu",
        "model": {"path": str(model), "revision": "test"},
        "prompt": {"preamble": PREAMBLE},
        **parts,
    }


def train_manifest(folder: Path, model: Path, data: dict[str, Path], **training: Any) -> dict[str, Any]:
    shards = {split: [str(path)] for split, path in data.items()}
    return manifest("train", folder, model, data=shards, training={**TRAINING, **training})


def write(folder: Path, value: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "job.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def command(path: Path, kind: str = "train") -> list[str]:
    return [sys.executable, "-m", "understudy_payload", kind, "--manifest", str(path)]


def environment(**extra: str) -> dict[str, str]:
    root = Path(__file__).resolve().parents[2]
    return {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", **extra}


def run(folder: Path, value: dict[str, Any]) -> int:
    """Run a job in a process of its own; the exit code (negative: killed by that signal)."""
    path = write(folder, value)
    return subprocess.run(command(path, value["kind"]), env=environment()).returncode


def run_killed_in_save(folder: Path, value: dict[str, Any], step: int, point: str) -> int:
    """Run a training job that dies by SIGKILL at this point of saving this step."""
    root = Path(__file__).resolve().parents[2]
    words = [sys.executable, "-m", "support.killed_in_save", "train", "--manifest", str(write(folder, value))]
    path = f"{root}{os.pathsep}{root / 'tests'}"
    environ = environment(PYTHONPATH=path, KILL_AT=f"{step}:{point}", OUTPUT=value["paths"]["output"])
    return subprocess.run(words, env=environ).returncode


def run_here(folder: Path, value: dict[str, Any]) -> int:
    """Run a job in this process: no start-up time, same code path from `main` on."""
    from understudy_payload.__main__ import main

    return main([value["kind"], "--manifest", str(write(folder, value))])


def events(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [event for event in found if kind is None or event["type"] == kind]
