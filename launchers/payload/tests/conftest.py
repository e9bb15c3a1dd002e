"""What tests share: one tiny model, one small corpus, one trained run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import pytest
from support import answering, corpus, jobs
from support.clock import Clock


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from understudy_payload.tiny import build_tiny_model

    folder = tmp_path_factory.mktemp("models") / "tiny"
    build_tiny_model(folder, seed=7)
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("data")
    return {
        "train": corpus.write_shard(folder / "train-0.parquet", corpus.greenroom(4)),
        "dev": corpus.write_shard(folder / "dev-0.parquet", corpus.greenroom(1, start=4)),
    }


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, model: Path, data: dict[str, Path]) -> Path:
    """Folder of a finished LoRA run of 8 steps with checkpoints 2, 4, 6, 8."""
    folder = tmp_path_factory.mktemp("trained")
    assert jobs.run_here(folder, jobs.train_manifest(folder, model, data)) == 0
    return folder


@pytest.fixture
def copy_of_trained(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change; its manifest must be written anew."""
    return Path(shutil.copytree(trained / "output", tmp_path / "output")).parent


@pytest.fixture(scope="session")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dialogues to answer: four of each role."""
    return corpus.write_shard(tmp_path_factory.mktemp("suite") / "shard.parquet", corpus.greenroom(4))


@pytest.fixture
def job(tmp_path: Path, model: Path, shard: Path) -> dict[str, Any]:
    """A manifest of `infer` with one task, `base`, of two roles."""
    tasks = [answering.task("base", tmp_path / "base", shard, ["monk", "pirate"])]
    return answering.infer_manifest(tmp_path, model, tasks)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)
