"""A model folder whose download was cut off ends a job at once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from support import answering, jobs

from understudy_payload.errors import CheckpointError
from understudy_payload.model_folder import INDEX, check_model_folder

SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


@pytest.fixture
def sharded(tmp_path: Path, model: Path) -> Path:
    """The tiny model in two weight files, as large models come."""
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    tensors = load_file(folder / "model.safetensors")
    places = {name: SHARDS[number % 2] for number, name in enumerate(sorted(tensors))}
    for shard in SHARDS:
        part = {name: tensors[name] for name, place in places.items() if place == shard}
        save_file(part, folder / shard, {"format": "pt"})
    (folder / "model.safetensors").unlink()
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return folder


def cut(path: Path, size: int) -> None:
    with open(path, "r+b") as file:
        file.truncate(size)


def test_whole_folders_pass(model: Path, sharded: Path, tmp_path: Path) -> None:
    for folder in (model, sharded, tmp_path / "nowhere"):
        check_model_folder(folder)


def test_what_is_missing_or_cut_off_is_named(sharded: Path) -> None:
    data = (sharded / SHARDS[1]).read_bytes()
    short = f"{len(data) - 1} bytes, its header says {len(data)}"
    for size, complaint in ((len(data) - 1, short), (20, "cut off"), (3, "too few")):
        cut(sharded / SHARDS[1], size)
        with pytest.raises(CheckpointError, match=complaint) as caught:
            check_model_folder(sharded)
        assert caught.value.code == "MODEL_INCOMPLETE" and SHARDS[1] in str(caught.value)
        (sharded / SHARDS[1]).write_bytes(data)
    (sharded / SHARDS[0]).unlink()
    with pytest.raises(CheckpointError, match=f"{SHARDS[0]} is missing"):
        check_model_folder(sharded)
    for text in ("{", "{}", "[]", '{"weight_map": 1}'):
        (sharded / INDEX).write_text(text)
        with pytest.raises(CheckpointError, match=f"{INDEX} cannot be read"):
            check_model_folder(sharded)
    (sharded / INDEX).unlink()
    with pytest.raises(CheckpointError, match="model.safetensors is missing"):
        check_model_folder(sharded)


@pytest.mark.parametrize("kind", ["train", "score", "infer"])
def test_a_job_ends_before_it_reads_anything(kind: str, tmp_path: Path, model: Path) -> None:
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    cut(folder / "model.safetensors", 10_000)
    gone = tmp_path / "gone.parquet"
    tasks = [answering.task("base", tmp_path / "out", gone, ["poet"])]
    manifests: dict[str, dict[str, Any]] = {
        "train": jobs.train_manifest(tmp_path, folder, {"train": gone, "dev": gone}),
        "score": jobs.manifest("score", tmp_path, folder, tasks=tasks, scoring={"batch": 1, "precision": "fp32"}),
        "infer": answering.infer_manifest(tmp_path, folder, tasks),
    }
    assert jobs.run_here(tmp_path, manifests[kind]) == 2
    (failed,) = jobs.events(tmp_path, "failed")
    assert failed["code"] == "MODEL_INCOMPLETE" and "model.safetensors" in failed["message"]
