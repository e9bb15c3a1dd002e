"""`infer` that was cut off: what is recorded stays, the rest is as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import answering, jobs
from support.spy import Spy

from understudy_payload import speaker
from understudy_payload.generation import Replies, Writer


def test_stop_is_honoured_between_batches_and_costs_nothing(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    write, stop = Writer.write, Path(job["paths"]["stop"])
    calls = []

    def stopping(*arguments: Any) -> Replies:
        calls.append(1)
        if len(calls) == 2:
            stop.touch()
        return write(*arguments)

    monkeypatch.setattr(Writer, "write", stopping)
    job["tasks"][0]["output"] = str(tmp_path / "again")
    job["decoding"]["batch"] = 3
    assert jobs.run_here(tmp_path, job) == 3
    assert len(calls) == 2
    stopped = jobs.events(tmp_path, "stopped")[-1]
    assert (stopped["reason"], stopped["done"], stopped["total"]) == ("stop-file", 0, 8) and "step" not in stopped
    assert not (tmp_path / "again" / "_DONE.json").exists()
    stop.unlink()
    assert jobs.run_here(tmp_path, job) == 0
    assert answering.lasting(tmp_path / "again") == answering.lasting(tmp_path / "base")


def test_what_is_recorded_stays_and_is_the_history(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine where the same computation gives other bytes: neither text nor audio of a row is made anew."""
    assert jobs.run_here(tmp_path, job) == 0
    base = tmp_path / "base"
    rows = answering.rows(base)
    # monk-000/0, monk-001/0: another reply than this machine would give; their second batch is still to come
    kept = [{**row, "text": f"recorded {row['dialogue']}"} for row in rows[:2]]
    for row in kept:
        (base / row["audio"]).write_bytes(b"recorded audio")
    (base / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    (base / "_DONE.json").unlink()
    before = {path.name: path.stat().st_mtime_ns for path in (base / "audio").iterdir()}
    spy = Spy(monkeypatch)
    assert jobs.run_here(tmp_path, job) == 0
    assert answering.rows(base)[:2] == kept
    assert [(row["dialogue"], row["turn"]) for row in answering.rows(base)] == [
        (row["dialogue"], row["turn"]) for row in rows
    ]
    for row in kept:
        assert (base / row["audio"]).read_bytes() == b"recorded audio"
        assert (base / row["audio"]).stat().st_mtime_ns == before[Path(row["audio"]).name]
    tokenizer = speaker.load_tokenizer(Path(job["model"]["path"]))
    assert "assistant\nrecorded monk-001<|im_end|>" in tokenizer.decode(spy.prompts["monk-001/1"].ids)


def test_batches_that_are_recorded_are_not_computed_again(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = Spy(monkeypatch)
    assert jobs.run_here(tmp_path, job) == 0
    first = spy.batches.copy()
    rows = answering.rows(tmp_path / "base")
    # all but the last row, whose turn is the second one of its dialogue
    lines = (tmp_path / "base/answers.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "base/answers.jsonl").write_text("".join(lines[:-1]))
    (tmp_path / "base/_DONE.json").unlink()
    assert jobs.run_here(tmp_path, job) == 0
    name = f"{rows[-1]['dialogue']}/{rows[-1]['turn']}"
    assert spy.batches[len(first) :] == [batch for batch in first if name in batch]
    assert answering.lasting(tmp_path / "base")[-1] | {"latencySeconds": 0} == rows[-1] | {"latencySeconds": 0}


def test_a_fenced_attempt_writes_nothing(tmp_path: Path, job: dict[str, Any]) -> None:
    Path(job["paths"]["fence"]).write_text("another attempt")
    assert jobs.run_here(tmp_path, job) == 75
    assert not (tmp_path / "base").exists() and not Path(job["paths"]["events"]).exists()
