"""Whatever vouches for results gets its name only from the attempt that owns the run at that very moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import answering, jobs

from understudy_payload import files, merge
from understudy_payload.files import files_of, hash_file

SCORING = {"batch": 2, "precision": "fp32"}


def take_over(folder: Path) -> None:
    (folder / "fence").write_text("attempt-2\n")


def take_over_when_staged(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str) -> list[Path]:
    """Another attempt takes over once a file of this name is written and flushed, but has not got its name yet."""
    real, staged = files.flush, []

    def flush(path: Path) -> None:
        real(path)
        if path.name.startswith(f"{name}.") and path.name.endswith(files.STAGED):
            staged.append(path)
            take_over(folder)

    monkeypatch.setattr(files, "flush", flush)
    return staged


def value_of(kind: str, folder: Path, model: Path, data: dict[str, Path], trained: Path) -> dict[str, Any]:
    tasks = [answering.task("base", folder / "base", data["dev"], ["pirate"])]
    if kind == "train":
        return jobs.train_manifest(folder, model, data)
    if kind == "score":
        return jobs.manifest("score", folder, model, tasks=tasks, scoring=SCORING)
    if kind == "infer":
        return answering.infer_manifest(folder, model, tasks)
    if kind == "measure":
        assert jobs.run_here(folder / "infer", answering.infer_manifest(folder / "infer", model, tasks)) == 0
        tasks = [{**tasks[0], "answers": str(folder / "base"), "output": str(folder / "measured")}]
        return jobs.manifest("measure", folder, model, tasks=tasks)
    return jobs.manifest("merge", folder, model, checkpoint=str(trained / "output/checkpoint-8"))


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("train", "_COMPLETE.json", "output/checkpoint-2"),
        ("score", "_DONE.json", "base"),
        ("infer", "_DONE.json", "base"),
        ("infer", "pirate-004-0.wav", "base/audio"),
        ("measure", "_SOURCE.json", "measured"),
        ("measure", "_DONE.json", "measured"),
        ("merge", "model.safetensors", "output"),
        ("merge", "_DONE.json", "output"),
    ],
)
def test_a_file_that_is_written_when_another_attempt_takes_over_gets_no_name(
    kind: str, name: str, place: str, tmp_path: Path, model: Path, data: dict[str, Path], trained: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    value = value_of(kind, tmp_path, model, data, trained)
    staged = take_over_when_staged(monkeypatch, tmp_path, name)
    assert jobs.run_here(tmp_path, value) == 75
    assert [path.parent for path in staged] == [tmp_path / place]
    assert not (tmp_path / place / name).exists() and not list(tmp_path.rglob(f"*{files.STAGED}"))


def test_a_merge_that_was_fenced_while_it_hashed_is_not_finished(
    tmp_path: Path, model: Path, data: dict[str, Path], trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = merge.file_facts

    def hashing(folder: Path) -> dict[str, Any]:
        facts = real(folder)
        take_over(tmp_path)
        return facts

    monkeypatch.setattr(merge, "file_facts", hashing)
    assert jobs.run_here(tmp_path, value_of("merge", tmp_path, model, data, trained)) == 75
    assert (tmp_path / "output/model.safetensors").exists() and not (tmp_path / "output/_DONE.json").exists()
    assert [event["type"] for event in jobs.events(tmp_path)] == ["started"]


def test_what_a_successor_has_written_is_left_alone(
    tmp_path: Path, model: Path, data: dict[str, Path], trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "output/model.safetensors"
    real = merge._rewrite

    def slowly(source: Path, target: Path, change: Any) -> None:
        take_over(tmp_path)
        theirs.write_text("theirs, whole")
        real(source, target, change)

    monkeypatch.setattr(merge, "_rewrite", slowly)
    assert jobs.run_here(tmp_path, value_of("merge", tmp_path, model, data, trained)) == 75
    assert theirs.read_text() == "theirs, whole"


def test_a_base_that_is_a_merge_itself_lends_no_proof(
    tmp_path: Path, model: Path, data: dict[str, Path], trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = value_of("merge", tmp_path / "first", model, data, trained)
    assert jobs.run_here(tmp_path / "first", first) == 0
    second = value_of("merge", tmp_path / "second", tmp_path / "first/output", data, trained)

    def cut_off(*_: Any) -> None:
        raise RuntimeError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(merge, "_rewrite", cut_off)
        assert jobs.run_here(tmp_path / "second", second) == 1
    assert not (tmp_path / "second/output/_DONE.json").exists()
    (tmp_path / f"second/output/left.1234{files.STAGED}").write_text("of a merge that was killed")
    assert jobs.run_here(tmp_path / "second", second) == 0
    done = (tmp_path / "second/output/_DONE.json").read_text()
    assert set(files_of(tmp_path / "second/output")) == {path.name for path in model.iterdir()} | {"_DONE.json"}
    assert hash_file(tmp_path / "second/output/model.safetensors") in done
