from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from safetensors import safe_open
from support import corpus, jobs
from understudy_payload.files import hash_file

ADAPTER = "output/checkpoint-8/adapter_model.safetensors"


def test_events_tell_the_whole_story(trained: Path) -> None:
    events = jobs.events(trained)
    # nothing was cut, so nothing is said about it
    assert [event["type"] for event in events[:2]] == ["started", "step"]
    assert events[0]["worldSize"] == 1 and events[0]["versions"]["transformers"]
    assert [event["step"] for event in events if event["type"] == "step"] == list(range(1, 9))
    assert [event["step"] for event in events if event["type"] == "eval"] == [4, 8]
    assert [event["step"] for event in events if event["type"] == "checkpoint"] == [2, 4, 6, 8]
    assert events[-1]["type"] == "finished" and events[-1]["step"] == 8
    losses = [event["loss"] for event in events if event["type"] == "eval"]
    assert losses[1] < losses[0] < 7


def test_a_marker_vouches_for_every_file(trained: Path) -> None:
    folder = trained / "output/checkpoint-8"
    marker = json.loads((folder / "_COMPLETE.json").read_text())
    assert (marker["step"], marker["kind"], marker["worldSize"]) == (8, "adapter", 1)
    assert marker["evalLoss"] == jobs.events(trained, "eval")[-1]["loss"]
    assert marker["trainLoss"] == pytest.approx(jobs.events(trained, "step")[-1]["loss"])
    names = {path.name for path in folder.iterdir()} - {"_COMPLETE.json"}
    assert set(marker["files"]) == names
    assert {"adapter_model.safetensors", "optimizer.pt", "trainer_state.json", "preprocessor_config.json"} <= names
    for name, facts in marker["files"].items():
        assert facts == {"bytes": (folder / name).stat().st_size, "sha256": hash_file(folder / name)}


def test_adapters_touch_the_language_model_only(trained: Path) -> None:
    with safe_open(trained / ADAPTER, "pt") as file:
        names = list(file.keys())
    assert len(names) == 2 * 7 * 2  # layers × projections × (A, B)
    assert all(re.match(r"base_model\.model\.model\.layers\.\d\.(self_attn|mlp)\.", name) for name in names)


def test_the_last_step_is_evaluated_and_saved(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    rarely = {"evalEverySteps": 100, "saveEverySteps": 100, "logEverySteps": 100}
    value = jobs.train_manifest(tmp_path, model, data, steps=3, **rarely)
    assert jobs.run_here(tmp_path, value) == 0
    found = [(event["type"], event["step"]) for event in jobs.events(tmp_path) if "step" in event]
    assert found == [("step", 3), ("eval", 3), ("checkpoint", 3), ("finished", 3)]


def test_a_finished_run_does_nothing_again(trained: Path, copy_of_trained: Path, model: Path, data: dict) -> None:
    assert jobs.run_here(copy_of_trained, jobs.train_manifest(copy_of_trained, model, data)) == 0
    assert [event["type"] for event in jobs.events(copy_of_trained)] == ["started", "resumed", "finished"]
    assert hash_file(copy_of_trained / ADAPTER) == hash_file(trained / ADAPTER)


def test_truncation_is_counted(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    rows = [corpus.dialogue(str(n), "poet", ["x" * 100] * n, language="en", card="c", seed=n) for n in (1, 2, 3, 4)]
    cut = {**data, "train": corpus.write_shard(tmp_path / "long.parquet", rows)}
    value = jobs.train_manifest(tmp_path, model, cut, steps=1, maxTokens=400)
    assert jobs.run_here(tmp_path, value) == 0
    (event,) = jobs.events(tmp_path, "truncated")
    assert (event["dialogues"], event["turns"]) == (2, 1 + 2)


def test_data_that_cannot_be_used(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    missing = {**data, "train": tmp_path / "gone.parquet"}
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, missing)) == 2
    (failed,) = jobs.events(tmp_path, "failed")
    assert failed["code"] == "SHARD_UNREADABLE" and "gone.parquet" in failed["message"]


def test_full_training_with_gradient_checkpointing(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    value = jobs.train_manifest(
        tmp_path, model, data, mode="full", lora=None, gradientCheckpointing=True, steps=2, learningRate=1e-3
    )
    assert jobs.run_here(tmp_path, value) == 0
    assert json.loads((tmp_path / "output/checkpoint-2/_COMPLETE.json").read_text())["kind"] == "full"
    with safe_open(tmp_path / "output/checkpoint-2/model.safetensors", "pt") as tuned, safe_open(
        model / "model.safetensors", "pt"
    ) as base:
        changed = {
            name.split(".")[0] for name in tuned.keys()
            if not tuned.get_tensor(name).equal(base.get_tensor(f"thinker.{name}"))
        }  # fmt: skip
    assert changed == {"model", "lm_head"}
