"""`infer` over several systems and interruptions: no residue, no difference."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import answering, corpus, jobs

ROLES = ["butler", "monk", "robot"]


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus.write_shard(tmp_path_factory.mktemp("data") / "shard.parquet", corpus.greenroom(4))


def test_a_system_leaves_no_trace_in_the_next(tmp_path: Path, model: Path, shard: Path) -> None:
    checkpoints = {
        "base": None,
        "adapter": answering.adapter(model, tmp_path / "checkpoints" / "adapter"),
        "full": answering.full(model, tmp_path / "checkpoints" / "full"),
    }
    order = ["base", "adapter", "full", "base", "adapter"]
    tasks = [
        answering.task(name, tmp_path / str(at), shard, ["poet"], checkpoints[name]) for at, name in enumerate(order)
    ]
    assert jobs.run_here(tmp_path, answering.infer_manifest(tmp_path, model, tasks)) == 0
    first_base, first_adapter, full, base, adapter = (answering.lasting(tmp_path / str(at)) for at in range(5))
    assert base == first_base and adapter == first_adapter
    texts = [[row["text"] for row in rows] for rows in (base, adapter, full)]
    assert texts[0] != texts[1] and texts[1] != texts[2] and texts[0] != texts[2]


def test_an_incomplete_checkpoint_is_refused(tmp_path: Path, model: Path, shard: Path) -> None:
    checkpoint = answering.adapter(model, tmp_path / "checkpoint-1")
    (checkpoint / "_COMPLETE.json").unlink()
    tasks = [answering.task("tuned", tmp_path / "out", shard, ["poet"], checkpoint)]
    assert jobs.run_here(tmp_path, answering.infer_manifest(tmp_path, model, tasks)) == 2
    assert jobs.events(tmp_path, "failed")[0]["code"] == "CHECKPOINT_INCOMPLETE"


def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path, model: Path, shard: Path) -> None:
    def manifest(name: str) -> tuple[Path, dict]:
        folder = tmp_path / name
        tasks = [answering.task("base", folder / "out", shard, ROLES)]
        return folder, answering.infer_manifest(folder, model, tasks, temperature=0.8, batch=1)

    whole, value = manifest("whole")
    assert jobs.run_here(whole, value) == 0
    folder, value = manifest("killed")
    answers = folder / "out" / "answers.jsonl"
    process = subprocess.Popen(
        jobs.command(jobs.write(folder, value), "infer"), env=jobs.environment(), stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not (answers.exists() and answers.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (folder / "out" / "_DONE.json").exists()
    # as if the kill had come in the middle of a write: some rows of a pool, and half a row
    lines = answers.read_bytes().splitlines(keepends=True)
    answers.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    assert jobs.run_here(folder, value) == 0
    assert answering.lasting(folder / "out") == answering.lasting(whole / "out")
    wanted = {path.name: path.read_bytes() for path in (whole / "out" / "audio").iterdir()}
    assert {path.name: path.read_bytes() for path in (folder / "out" / "audio").iterdir()} == wanted
    done = json.loads((folder / "out" / "_DONE.json").read_text())
    before = answers.read_bytes()
    assert jobs.run_here(folder, value) == 0  # done: skipped
    assert answers.read_bytes() == before and done["rows"] == len(before.splitlines())
