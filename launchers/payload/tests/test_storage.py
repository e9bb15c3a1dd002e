"""A disk that fails is a machine that is unfit (69), in whichever phase: no wrong manifest, no bad model, no crash."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import torch
from support import answering, corpus, jobs
from support.clock import Clock
from support.disk import break_file

from understudy_payload import modeling, stopping
from understudy_payload.shards import Shards
from understudy_payload.trainer import OmniTrainer

SCORING = {"batch": 2, "precision": "fp32"}


@pytest.fixture
def own_model(tmp_path: Path, model: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "models" / "tiny"))


def code_of(folder: Path) -> str:
    (failed,) = jobs.events(folder, "failed")
    assert failed["message"] and failed["hint"]
    return failed["code"]


@pytest.mark.parametrize("name", ["tokenizer.json", "preprocessor_config.json", "config.json", "model.safetensors"])
def test_the_model_of_a_training_run(name: str, tmp_path: Path, own_model: Path, data: dict[str, Path]) -> None:
    break_file(own_model / name)
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, own_model, data)) == 69
    assert code_of(tmp_path) == "STORAGE_LOST"


@pytest.mark.parametrize("name", ["_COMPLETE.json", "adapter_config.json", "adapter_model.safetensors"])
@pytest.mark.parametrize("kind", ["score", "merge"])
def test_a_checkpoint_that_is_read(
    kind: str, name: str, tmp_path: Path, model: Path, copy_of_trained: Path, data: dict[str, Path]
) -> None:
    checkpoint, folder = copy_of_trained / "output/checkpoint-8", tmp_path / "job"
    break_file(checkpoint / name)
    if kind == "merge":
        value = jobs.manifest("merge", folder, model, checkpoint=str(checkpoint))
    else:
        tasks = [answering.task("tuned", folder / "tuned", data["dev"], ["pirate"], checkpoint)]
        value = jobs.manifest("score", folder, model, tasks=tasks, scoring=SCORING)
    assert jobs.run_here(folder, value) == 69
    assert code_of(folder) == "STORAGE_LOST"


def test_the_voices(tmp_path: Path, own_model: Path, job: dict[str, Any]) -> None:
    break_file(own_model / "spk_dict.pt")
    job["model"]["path"] = str(own_model)
    assert jobs.run_here(tmp_path, job) == 69
    assert code_of(tmp_path) == "STORAGE_LOST"


def test_the_manifest(tmp_path: Path, model: Path, data: dict[str, Path], clock: Clock) -> None:
    from understudy_payload.__main__ import main

    path = jobs.write(tmp_path / "attempt", jobs.train_manifest(tmp_path, model, data))
    break_file(path)
    assert main(["train", "--manifest", str(path)]) == 69 and clock.now >= stopping.PATIENCE_SECONDS
    path.unlink()
    assert main(["train", "--manifest", str(path)]) == 2


def failing(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    """Each read of a row group fails until `times` have."""
    real, left = pyarrow.parquet.ParquetFile.read_row_group, [times]

    def read(file: Any, *arguments: Any, **options: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise OSError(errno.EIO, "Input/output error")
        return real(file, *arguments, **options)

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "read_row_group", read)


def test_a_shard_is_waited_for(
    tmp_path: Path, model: Path, data: dict[str, Path], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, 3)
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data, steps=1)) == 0
    assert clock.now > 0


def test_a_shard_that_stays_away(
    tmp_path: Path, model: Path, data: dict[str, Path], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, float("inf"))
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data, steps=1)) == 69
    assert code_of(tmp_path) == "STORAGE_LOST" and clock.now >= stopping.PATIENCE_SECONDS


def test_a_shard_that_shrinks_while_it_is_read_does_not_kill(tmp_path: Path) -> None:
    path = corpus.write_shard(tmp_path / "a.parquet", corpus.greenroom(4))
    shards = Shards([path])
    with open(path, "r+b") as file:
        file.truncate(4096)
    with pytest.raises(Exception, match=r"a\.parquet") as caught:
        shards[0]
    assert getattr(caught.value, "code", "") == "SHARD_UNREADABLE"


@pytest.mark.parametrize("workers", [0, 1])
def test_a_shard_with_a_torn_page(workers: int, tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    """Whole at both ends: nothing is noticed before its rows are read, by a process of their own if there is one."""
    torn = Path(shutil.copy(data["train"], tmp_path / "torn.parquet"))
    group = pyarrow.parquet.ParquetFile(torn).metadata.row_group(1)
    columns = [group.column(number) for number in range(group.num_columns)]
    (audio,) = (column for column in columns if column.path_in_schema.endswith("user_audio.bytes"))
    with open(torn, "r+b") as file:
        file.seek(audio.data_page_offset)
        file.write(bytes(1_000))
    value = jobs.train_manifest(tmp_path, model, {**data, "train": torn}, dataLoaderWorkers=workers)
    assert jobs.run_here(tmp_path, value) == 2
    assert code_of(tmp_path) == "SHARD_UNREADABLE"
    assert "torn.parquet" in jobs.events(tmp_path, "failed")[0]["message"]


def test_an_audio_file_that_cannot_be_read_is_not_missing(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    task = job["tasks"][0]
    answers = Path(task["output"])
    heard = next(row for row in answering.rows(answers) if row["audio"])
    tasks = [{**task, "answers": str(answers), "output": str(tmp_path / "measured")}]
    value = jobs.manifest("measure", tmp_path, Path(job["model"]["path"]), tasks=tasks)
    for entry in value["tasks"]:
        entry["system"] = task["system"]
    break_file(answers / heard["audio"])
    assert jobs.run_here(tmp_path, value) == 69
    assert code_of(tmp_path) == "STORAGE_LOST"


def test_rows_of_which_nobody_can_read_the_source_are_kept(tmp_path: Path) -> None:
    from understudy_payload.stopping import Fence
    from understudy_payload.tasks import ResultFile

    results = ResultFile(tmp_path / "task", "rows.jsonl", Fence(tmp_path / "fence", "a"))
    results.made_from({"answersSha256": "x"})
    results.append([{"dialogue": "a", "turn": 0}])
    break_file(tmp_path / "task/_SOURCE.json")
    with pytest.raises(OSError, match="Input/output error"):
        results.made_from({"answersSha256": "x"})
    assert answering.rows(tmp_path / "task", "rows.jsonl") == [{"dialogue": "a", "turn": 0}]


def test_rows_end_where_a_power_cut_left_zeros(tmp_path: Path) -> None:
    from understudy_payload.stopping import Fence
    from understudy_payload.tasks import ResultFile

    path = tmp_path / "rows.jsonl"
    first, second = ('{"dialogue":"%s","turn":0}\n' % name for name in "ac")
    path.write_text(first + "\0" * 20 + "\n" + second + '{"dial')
    results = ResultFile(tmp_path, path.name, Fence(tmp_path / "fence", "a")).open()
    assert results.keys() == {("a", 0)} and path.read_text() == first


def test_too_little_memory_of_the_machine(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OmniTrainer, "compute_loss", lambda *_, **__: torch.empty(10**15))
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data)) == 1
    assert code_of(tmp_path) == "OUT_OF_MEMORY"


@pytest.mark.parametrize(
    ("error", "exit_code", "code"),
    [
        (RuntimeError("CUDA error: uncorrectable ECC error encountered"), 69, "DEVICE_LOST"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), 1, "OUT_OF_MEMORY"),
        (MemoryError("Unable to allocate 7.11 PiB"), 1, "OUT_OF_MEMORY"),
        (RuntimeError("Error(s) in loading state_dict"), 2, "MODEL_UNREADABLE"),
    ],
    ids=["device", "device memory", "memory", "model"],
)
@pytest.mark.parametrize("kind", ["train", "score"])
def test_while_the_weights_are_loaded(
    kind: str, error: Exception, exit_code: int, code: str, tmp_path: Path, model: Path, data: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from transformers.models.qwen2_5_omni import modeling_qwen2_5_omni as omni

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(omni.Qwen2_5OmniThinkerForConditionalGeneration, "from_pretrained", fail)
    value = jobs.train_manifest(tmp_path, model, data)
    if kind == "score":
        tasks = [answering.task("base", tmp_path / "base", data["dev"], ["pirate"])]
        value = jobs.manifest("score", tmp_path, model, tasks=tasks, scoring=SCORING)
    assert jobs.run_here(tmp_path, value) == exit_code
    assert code_of(tmp_path) == code


def test_gpus_that_are_there_and_do_not_work(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    value = jobs.train_manifest(tmp_path, model, data)
    value["device"] = "cuda"
    assert jobs.run_here(tmp_path, value) == 2
    assert code_of(tmp_path) == "NO_CUDA"
    (tmp_path / "gpus/0000:1b:00.0").mkdir(parents=True)
    monkeypatch.setattr(modeling, "GPUS", tmp_path / "gpus")
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    (tmp_path / "events.jsonl").unlink()
    assert jobs.run_here(tmp_path, value) == 69
    assert code_of(tmp_path) == "DEVICE_LOST"


def test_a_save_on_a_disk_that_fails(
    tmp_path: Path, model: Path, data: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("writer failed") from OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(OmniTrainer, "_save_optimizer_and_scheduler", fail)
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data)) == 69
    assert json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])["code"] == "STORAGE_LOST"
    assert not (tmp_path / "output/checkpoint-2/_COMPLETE.json").exists()
