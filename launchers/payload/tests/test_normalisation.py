"""The loss is a sum over label tokens divided by the label tokens of the whole step, however the step is cut up."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file
from support import jobs
from support.watch import steps_of, when
from understudy_payload.manifest import parse_manifest
from understudy_payload.marker import MARKER
from understudy_payload.zero import deepspeed_config

EXACT = {
    "mode": "full", "lora": None, "precision": "fp32", "learningRate": 1e-3, "schedule": "constant",
    "warmupFraction": 0.0, "steps": 3, "globalBatch": 4, "saveEverySteps": 100, "evalEverySteps": 100,
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, model: Path, data: dict[str, Path]) -> Path:
    """Four dialogues at once in one process."""
    folder = tmp_path_factory.mktemp("whole")
    assert jobs.run_here(folder, jobs.train_manifest(folder, model, data, **EXACT, microBatch=4)) == 0
    return folder


def assert_same_training(one: Path, other: Path) -> None:
    assert steps_of(one) == pytest.approx(steps_of(other), rel=1e-5)
    assert jobs.events(one, "eval")[-1]["tokens"] == jobs.events(other, "eval")[-1]["tokens"]
    assert jobs.events(one, "eval")[-1]["loss"] == pytest.approx(jobs.events(other, "eval")[-1]["loss"], rel=1e-4)
    norms = [[event["gradNorm"] for event in jobs.events(folder, "step")] for folder in (one, other)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-3)
    # Adam divides by the size of a gradient, so rounding may move single weights; the bulk must agree.
    first, second = (load_file(folder / "output/checkpoint-3/model.safetensors") for folder in (one, other))
    distance = sum((first[name] - second[name]).abs().sum().item() for name in first)
    assert distance / sum(tensor.numel() for tensor in first.values()) < 1e-6


def test_accumulation_equals_one_batch(tmp_path: Path, whole: Path, model: Path, data: dict[str, Path]) -> None:
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data, **EXACT, microBatch=1)) == 0
    assert_same_training(tmp_path, whole)


def test_two_ranks_equal_one(tmp_path: Path, whole: Path, model: Path, data: dict[str, Path]) -> None:
    path = jobs.write(tmp_path, jobs.train_manifest(tmp_path, model, data, **EXACT, microBatch=1))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    arguments = ["-m", "understudy_payload", "train", "--manifest", str(path)]
    assert subprocess.run([*torchrun, *arguments], env=jobs.environment()).returncode == 0
    assert jobs.events(tmp_path, "started")[0]["worldSize"] == 2
    states = sorted(path.name for path in (tmp_path / "output/checkpoint-3").glob("rng_state*"))
    assert states == ["rng_state_0.pth", "rng_state_1.pth"]
    assert_same_training(tmp_path, whole)


def test_two_ranks_stop_together(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    value = jobs.train_manifest(tmp_path, model, data, microBatch=1, steps=500, saveEverySteps=500, evalEverySteps=500)
    path = jobs.write(tmp_path, value)
    process = subprocess.Popen([*jobs.command(path), "--processes", "2"], env=jobs.environment())
    when(tmp_path, "step", lambda: process.send_signal(signal.SIGTERM)).join()
    assert process.wait() == 3
    (stopped,) = jobs.events(tmp_path, "stopped")
    assert stopped["reason"] == "signal"
    assert (tmp_path / f"output/checkpoint-{stopped['step']}" / MARKER).exists()


def test_zero_stage_two_is_rendered(tmp_path: Path, data: dict[str, Path]) -> None:
    value = jobs.train_manifest(tmp_path, tmp_path, data, mode="full", lora=None, zero=2)
    config = deepspeed_config(parse_manifest(value, "train").training)
    assert config["bf16"] == {"enabled": True}
    stage = config["zero_optimization"]
    assert (stage["stage"], stage["overlap_comm"]) == (2, False)
    assert stage["reduce_bucket_size"] == stage["allgather_bucket_size"] == 200_000_000
    assert deepspeed_config(parse_manifest(jobs.train_manifest(tmp_path, tmp_path, data), "train").training) is None
