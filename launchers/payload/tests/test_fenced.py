"""An attempt that another one has taken over from: it ends soon, and leaves everything to its successor."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import answering, jobs
from support.watch import when

from understudy_payload import infer, marker, score, stopping, trainer
from understudy_payload.boundary import Boundary
from understudy_payload.errors import Fenced
from understudy_payload.marker import MARKER
from understudy_payload.stopping import Fence, StopRequest
from understudy_payload.tasks import ResultFile
from understudy_payload.trainer import OmniTrainer

RARELY = {"steps": 50, "logEverySteps": 100, "saveEverySteps": 100, "evalEverySteps": 100}


def take_over(folder: Path) -> None:
    (folder / "fence").write_text("attempt-2\n")


def before(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]) -> None:
    """Call `act` before each call of a function."""
    real = getattr(owner, name)

    def acting(*arguments: Any, **options: Any) -> Any:
        act()
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, acting)


def types(folder: Path) -> list[str]:
    return [event["type"] for event in jobs.events(folder)]


def test_training_ends_at_a_step_and_not_at_the_next_save(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    def note() -> None:
        steps.append(len(steps) + 1)
        if len(steps) == 3:
            take_over(tmp_path)

    before(monkeypatch, Boundary, "on_step_end", note)
    monkeypatch.setattr(stopping, "POLL_SECONDS", 0.0)
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data, **RARELY)) == 75
    assert steps == [1, 2, 3] and types(tmp_path) == ["started"]
    assert not list((tmp_path / "output").glob("checkpoint-*"))


def test_all_ranks_end_and_none_says_anything(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    rarely = {**RARELY, "steps": 100_000, "logEverySteps": 100_000, "saveEverySteps": 100_000, "evalEverySteps": 100_000}
    value = jobs.train_manifest(tmp_path, model, data, microBatch=2, **rarely)
    when(tmp_path, "started", lambda: take_over(tmp_path))
    command = [*jobs.command(jobs.write(tmp_path, value)), "--processes", "2"]
    assert subprocess.run(command, env=jobs.environment()).returncode == 75
    assert types(tmp_path) == ["started"]


def test_an_evaluation_is_not_reported(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before(monkeypatch, trainer.world, "total", lambda: take_over(tmp_path))
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data, evalEverySteps=1)) == 75
    assert types(tmp_path) == ["started", "step"]


def test_an_evaluation_is_cut_off(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    before(monkeypatch, trainer.LabelLikelihood, "losses", lambda: batches.append(1))
    before(monkeypatch, OmniTrainer, "evaluate", lambda: take_over(tmp_path))
    monkeypatch.setattr(stopping, "POLL_SECONDS", 0.0)
    value = jobs.train_manifest(tmp_path, model, data, evalEverySteps=1)
    assert jobs.run_here(tmp_path, value) == 75
    assert len(batches) == 1  # that of the one training step


@pytest.mark.parametrize("moment", ["files", "digests"])
def test_a_checkpoint_is_not_completed(
    moment: str, tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = (OmniTrainer, "_save_optimizer_and_scheduler") if moment == "files" else (marker, "file_facts")
    before(monkeypatch, owner, name, lambda: take_over(tmp_path))
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data)) == 75
    (folder,) = (tmp_path / "output").iterdir()
    assert (folder / "optimizer.pt").exists() and not (folder / MARKER).exists()
    assert set(types(tmp_path)) == {"started", "step"}


def test_a_folder_that_a_successor_is_writing_is_not_removed(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "output/checkpoint-2/model.safetensors"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("half")
    before(monkeypatch, OmniTrainer, "_save_checkpoint", lambda: take_over(tmp_path))
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data)) == 75
    assert theirs.read_text() == "half"


@pytest.mark.parametrize("kind", ["train", "score"])
def test_neither_a_stop_nor_a_failure_is_said(
    kind: str, tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "train":

        def fail(*_: Any, **__: Any) -> None:
            take_over(tmp_path)
            raise RuntimeError("the other attempt has taken the port")

        monkeypatch.setattr(OmniTrainer, "compute_loss", fail)
        value = jobs.train_manifest(tmp_path, model, data)
    else:
        (tmp_path / "STOP").touch()
        before(monkeypatch, StopRequest, "reason", lambda: take_over(tmp_path))
        tasks = [answering.task("base", tmp_path / "base", data["dev"], ["pirate"])]
        scoring = {"batch": 2, "precision": "fp32"}
        value = jobs.manifest("score", tmp_path, model, tasks=tasks, scoring=scoring)
    assert jobs.run_here(tmp_path, value) == 75
    assert types(tmp_path) == ["started"]


def test_scoring_ends_between_batches(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [answering.task("base", tmp_path / "base", data["dev"], ["pirate", "butler", "monk"])]
    value = jobs.manifest("score", tmp_path, model, tasks=tasks, scoring={"batch": 1, "precision": "fp32"})
    calls: list[int] = []

    def note() -> None:
        calls.append(1)
        if len(calls) == 2:
            take_over(tmp_path)

    before(monkeypatch, score.Scorer, "rows", note)
    assert jobs.run_here(tmp_path, value) == 75
    assert len(calls) == 2 and not (tmp_path / "base/_DONE.json").exists()
    assert {row["dialogue"] for row in answering.rows(tmp_path / "base", "scores.jsonl")} == {"butler-004"}
    assert set(types(tmp_path)) == {"started", "progress"}


def test_no_more_audio_is_written_between_the_rows_of_a_pool(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [answering.task("base", tmp_path / "base", data["dev"], ["pirate", "butler", "monk"])]
    written: list[Path] = []

    def write(path: Path, samples: Any, check: Any) -> str:
        written.append(path)
        take_over(tmp_path)
        return "digest"

    monkeypatch.setattr(infer, "write_wav", write)
    assert jobs.run_here(tmp_path, answering.infer_manifest(tmp_path, model, tasks)) == 75
    assert len(written) == 1 and answering.rows_or_none(tmp_path / "base") == []
    assert types(tmp_path) == ["started"]


class FencedAt(Fence):
    """Breaks at the n-th check."""

    def __init__(self, number: int) -> None:
        self._left = number

    def check(self) -> None:
        self._left -= 1
        if self._left <= 0:
            raise Fenced("another attempt")


def test_a_task_is_neither_finished_nor_cut_after_a_long_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"dialogue":"a","turn":0}\n{"dialogue"')
    with pytest.raises(Fenced):
        ResultFile(tmp_path, path.name, FencedAt(2)).open()
    assert path.read_text().endswith('{"dialogue"')
    with pytest.raises(Fenced):
        ResultFile(tmp_path, path.name, FencedAt(2)).finish()
    assert not (tmp_path / "_DONE.json").exists()
