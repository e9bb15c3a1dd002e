from __future__ import annotations

from pathlib import Path

import pytest
from support import jobs
from understudy_payload.errors import ManifestError
from understudy_payload.manifest import ScoreManifest, parse_manifest

ROOT = Path("/nowhere")
DATA = {"train": ROOT / "train.parquet", "dev": ROOT / "dev.parquet"}


def train(**training: object) -> dict:
    return jobs.train_manifest(ROOT, ROOT / "model", DATA, **training)


def test_a_good_manifest_becomes_typed() -> None:
    manifest = parse_manifest(train(steps=500), "train")
    assert manifest.training.steps == 500
    assert manifest.training.weight_decay == 0.0
    assert manifest.paths.stop == ROOT / "STOP"


def test_every_problem_is_named_at_once() -> None:
    value = train(steps=0, warmupFraction=2, precision="fp16", zero=True, learningRate="1e-4", lernRate=1)
    value["paths"]["stop"] = "STOP"
    value["data"]["dev"] = []
    del value["run"]
    with pytest.raises(ManifestError) as caught:
        parse_manifest(value, "train")
    places = [problem.split(":")[0] for problem in caught.value.problems]
    assert sorted(places) == [
        "data.dev", "paths.stop", "run", "training.learningRate", "training.lernRate", "training.precision",
        "training.steps", "training.warmupFraction", "training.zero",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"lora": None}, "training.lora: mode is lora"),
        ({"mode": "full"}, "training.lora: mode is full"),
        ({"zero": 2}, "training.zero: stage 2 is for mode full"),
        ({"globalBatch": 5}, "training.globalBatch: 5 is not a multiple of microBatch 4"),
        ({"steps": True}, "training.steps: expected a whole number, got True"),
    ],
)
def test_settings_that_contradict_each_other(change: dict, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        parse_manifest(train(**change), "train")


def test_accumulation_must_be_whole() -> None:
    training = parse_manifest(train(globalBatch=8, microBatch=2), "train").training
    assert training.accumulation(world_size=2) == 2
    with pytest.raises(ManifestError, match="8 is not a multiple of microBatch 2 × 3 processes"):
        training.accumulation(world_size=3)


def test_kind_must_be_the_command() -> None:
    with pytest.raises(ManifestError, match='the command is "merge", the manifest says "train"'):
        parse_manifest(train(), "merge")


def test_tasks_are_parsed() -> None:
    task = {
        "system": {"id": "base", "checkpoint": None, "speaker": "Ethan"},
        "suite": {"id": "test/seen", "shards": ["/a.parquet"], "roles": ["pirate"]},
        "output": "/out",
    }
    value = jobs.manifest("score", ROOT, ROOT, tasks=[task], scoring={"batch": 4, "precision": "fp32"})
    manifest = parse_manifest(value, "score")
    assert isinstance(manifest, ScoreManifest)
    assert manifest.tasks[0].system.checkpoint is None
    task["system"]["speaker"] = "Cherry"
    with pytest.raises(ManifestError, match=r'tasks\[0\].system.speaker: expected "Chelsie" or "Ethan", got "Cherry"'):
        parse_manifest(value, "score")


def test_a_broken_manifest_still_reaches_the_events(tmp_path: Path) -> None:
    value = jobs.train_manifest(tmp_path, ROOT / "model", DATA, steps=0, microBatch=0)
    assert jobs.run_here(tmp_path, value) == 2
    (failed,) = jobs.events(tmp_path, "failed")
    assert failed["code"] == "MANIFEST_INVALID"
    assert "training.steps" in failed["message"] and "training.microBatch" in failed["message"]
