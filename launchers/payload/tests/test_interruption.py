from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import jobs
from support.watch import when
from understudy_payload import resume, trainer
from understudy_payload.events import EventLog
from understudy_payload.marker import MARKER
from understudy_payload.files import hash_file
from understudy_payload.resume import newest_complete
from understudy_payload.trainer import OmniTrainer

ADAPTER = "adapter_model.safetensors"


def final(folder: Path) -> str:
    return hash_file(folder / "output/checkpoint-8" / ADAPTER)


@pytest.mark.parametrize(
    ("point", "resumed"),
    [("weights-written", 4), ("all-written", 4), ("marker-staged", 4), ("marker-written", 6), ("between", 6)],
)
def test_killed_in_a_save_and_resumed_equals_uninterrupted(
    point: str, resumed: int, tmp_path: Path, trained: Path, model: Path, data: dict[str, Path]
) -> None:
    value = jobs.train_manifest(tmp_path, model, data)
    assert jobs.run_killed_in_save(tmp_path, value, 6, point) == -signal.SIGKILL
    torn = tmp_path / "output/checkpoint-6"
    assert (torn / ADAPTER).exists() and (torn / MARKER).exists() == (resumed == 6)
    value["attempt"]["number"] = 2
    assert jobs.run_here(tmp_path, value) == 0
    second = [event for event in jobs.events(tmp_path) if event["attempt"] == 2]
    skipped = ["checkpoint_skipped"] if resumed == 4 else []
    assert [event["type"] for event in second[: len(skipped) + 2]] == ["started", *skipped, "resumed"]
    assert all(event["checkpoint"] == "checkpoint-6" for event in second if event["type"] == "checkpoint_skipped")
    (went_on,) = (event for event in second if event["type"] == "resumed")
    assert (went_on["checkpoint"], went_on["digests"]) == (f"checkpoint-{resumed}", True)
    assert final(tmp_path) == final(trained)
    found = newest_complete(tmp_path / "output", EventLog(tmp_path / "events.jsonl", 3))
    assert found and found.step == 8 and not list((tmp_path / "output").rglob("*.tmp"))


def test_a_checkpoint_that_lost_bytes_is_skipped(
    trained: Path, copy_of_trained: Path, model: Path, data: dict[str, Path]
) -> None:
    shutil.rmtree(copy_of_trained / "output/checkpoint-8")
    with open(copy_of_trained / "output/checkpoint-6/optimizer.pt", "ab") as file:
        file.truncate(100)
    assert jobs.run_here(copy_of_trained, jobs.train_manifest(copy_of_trained, model, data)) == 0
    (skipped,) = jobs.events(copy_of_trained, "checkpoint_skipped")
    assert "optimizer.pt has 100 bytes" in skipped["reason"]
    assert final(copy_of_trained) == final(trained)


def flip(path: Path) -> None:
    """Change one byte, keep the size."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_checkpoint_whose_bytes_changed_is_skipped(
    trained: Path, copy_of_trained: Path, model: Path, data: dict[str, Path]
) -> None:
    flip(copy_of_trained / "output/checkpoint-8/optimizer.pt")
    assert jobs.run_here(copy_of_trained, jobs.train_manifest(copy_of_trained, model, data)) == 0
    (skipped,) = jobs.events(copy_of_trained, "checkpoint_skipped")
    assert skipped["checkpoint"] == "checkpoint-8" and "the content of optimizer.pt changed" in skipped["reason"]
    assert jobs.events(copy_of_trained, "resumed")[0]["step"] == 6
    assert final(copy_of_trained) == final(trained)


def test_a_large_checkpoint_is_compared_by_size_and_it_is_said(
    copy_of_trained: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    flip(copy_of_trained / "output/checkpoint-8/optimizer.pt")
    marker = json.loads((copy_of_trained / "output/checkpoint-8" / MARKER).read_text())
    total = sum(entry["bytes"] for entry in marker["files"].values())
    monkeypatch.setattr(resume, "HASHED_AT_ONCE", total - 1)
    assert jobs.run_here(copy_of_trained, jobs.train_manifest(copy_of_trained, model, data)) == 0
    (resumed,) = jobs.events(copy_of_trained, "resumed")
    assert (resumed["step"], resumed["digests"]) == (8, False)


@pytest.mark.parametrize("how", ["stop-file", "signal"])
def test_save_and_stop_then_go_on(how: str, tmp_path: Path, model: Path, data: dict[str, Path], trained: Path) -> None:
    value = jobs.train_manifest(tmp_path, model, data, saveEverySteps=100, evalEverySteps=100)
    path = jobs.write(tmp_path, value)
    process = subprocess.Popen(jobs.command(path), env=jobs.environment())
    act = (tmp_path / "STOP").touch if how == "stop-file" else process.terminate
    when(tmp_path, "step", act).join()
    assert process.wait() == 3
    (stopped,) = jobs.events(tmp_path, "stopped")
    assert stopped["reason"] == how and 1 <= stopped["step"] < 8
    assert (tmp_path / f"output/checkpoint-{stopped['step']}" / MARKER).exists()
    (tmp_path / "STOP").unlink(missing_ok=True)
    assert jobs.run_here(tmp_path, value) == 0
    assert final(tmp_path) == final(trained)


def acting(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, act: Callable[[], object]) -> None:
    """Call `act` before the first call of a function."""
    real, calls = getattr(owner, name), []

    def called(*arguments: Any, **options: Any) -> Any:
        if not calls:
            act()
        calls.append(1)
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize(
    ("moment", "step"), [("first step", 1), ("evaluation", 2), ("save", 3)], ids=["first step", "evaluation", "save"]
)
@pytest.mark.parametrize("how", ["stop-file", "signal"])
def test_a_request_costs_no_step_more_than_the_one_under_way(
    moment: str, step: int, how: str, tmp_path: Path, model: Path, data: dict[str, Path], trained: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    stop = tmp_path / "STOP"
    ask = stop.touch if how == "stop-file" else lambda: os.kill(os.getpid(), signal.SIGTERM)
    owner, name = {
        "first step": (OmniTrainer, "compute_loss"),
        "evaluation": (trainer.world, "total"),
        "save": (OmniTrainer, "_save_optimizer_and_scheduler"),
    }[moment]
    acting(monkeypatch, owner, name, ask)
    value = jobs.train_manifest(tmp_path, model, data, evalEverySteps=2, saveEverySteps=3)
    assert jobs.run_here(tmp_path, value) == 3
    types = [event["type"] for event in jobs.events(tmp_path)]
    assert types == ["started", *["step"] * step, *(["eval"] if step == 2 else []), "checkpoint", "stopped"] or step == 3
    assert jobs.events(tmp_path, "stopped")[0]["step"] == jobs.events(tmp_path, "checkpoint")[0]["step"] == step
    assert [path.name for path in (tmp_path / "output").iterdir()] == [f"checkpoint-{step}"]
    stop.unlink(missing_ok=True)
    assert jobs.run_here(tmp_path, value) == 0
    assert final(tmp_path) == final(trained)


def test_a_stop_before_the_first_step(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    (tmp_path / "STOP").touch()
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data)) == 3
    assert jobs.events(tmp_path)[-1]["step"] == 0
    assert not list((tmp_path / "output").glob("checkpoint-*"))


def test_fenced_from_the_start(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    (tmp_path / "fence").write_text("attempt-2\n")
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data)) == 75
    assert not (tmp_path / "events.jsonl").exists()
    (tmp_path / "fence").write_text(f"{jobs.TOKEN}\n")
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data, steps=1)) == 0


def test_fenced_while_training(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    value = jobs.train_manifest(tmp_path, model, data, steps=500, evalEverySteps=500)
    when(tmp_path, "checkpoint", lambda: (tmp_path / "fence").write_text("attempt-2"))
    assert jobs.run_here(tmp_path, value) == 75
    saved = {event["checkpoint"] for event in jobs.events(tmp_path, "checkpoint")}
    assert saved == {path.parent.name for path in (tmp_path / "output").glob(f"*/{MARKER}")}
    assert len(saved) < 250 and not jobs.events(tmp_path, "failed")


def test_loader_workers_change_nothing(tmp_path: Path, trained: Path, model: Path, data: dict[str, Path]) -> None:
    assert jobs.run(tmp_path, jobs.train_manifest(tmp_path, model, data, dataLoaderWorkers=2)) == 0
    assert final(tmp_path) == final(trained)
