from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from understudy_payload import stopping
from understudy_payload.errors import Fenced
from understudy_payload.events import EventLog
from understudy_payload.stopping import Fence


def test_events_are_lines_with_attempt_and_time(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "events.jsonl"
    EventLog(path, 3).write("step", step=1, loss=float("nan"), gradNorm=2.5)
    (line,) = path.read_text().splitlines()
    event = json.loads(line)
    assert (event["v"], event["attempt"], event["type"]) == (1, 3, "step")
    assert (event["loss"], event["gradNorm"]) == (None, 2.5)
    assert event["at"].endswith("Z")


def test_a_torn_line_spoils_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"v":1,"type":"started"}\n{"v":1,"ty')
    EventLog(path, 2).write("started", kind="train")
    whole = [line for line in path.read_text().splitlines() if line.endswith("}")]
    assert [json.loads(line)["type"] for line in whole] == ["started", "started"]


def test_other_ranks_write_nothing(tmp_path: Path) -> None:
    EventLog(tmp_path / "events.jsonl", 1, enabled=False).write("step", step=1)
    assert not (tmp_path / "events.jsonl").exists()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(stopping, "sleep", found.append)
    return found


def test_an_append_that_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    path, real, failures = tmp_path / "events.jsonl", os.open, [errno.ESTALE, errno.ETIMEDOUT]

    def stale(name: object, *rest: int) -> int:
        if name == path and failures:
            raise OSError(failures.pop(0), "the disk is away")
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", stale)
    EventLog(path, 1).write("step", step=1)
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1]
    assert len(waits) == 2


def test_an_event_that_was_written_when_the_error_came_is_not_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    path, failures = tmp_path / "events.jsonl", [errno.EIO]

    def fsync(descriptor: int) -> None:
        if failures:
            raise OSError(failures.pop(), "Input/output error")

    EventLog(path, 1).write("step", step=1)
    monkeypatch.setattr(os, "fsync", fsync)
    EventLog(path, 1).write("checkpoint", step=1)
    assert [json.loads(line)["type"] for line in path.read_text().splitlines()] == ["step", "checkpoint"]


def test_a_line_that_was_written_in_part_is_written_again_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    path, real, cuts = tmp_path / "events.jsonl", os.write, [10]
    monkeypatch.setattr(os, "write", lambda to, data: real(to, data[: cuts.pop()] if cuts else data))
    EventLog(path, 1).write("eval", step=4)
    torn, whole = path.read_text().splitlines()
    assert len(torn) == 10 and json.loads(whole)["step"] == 4 and len(waits) == 1


def test_a_fenced_attempt_says_nothing(tmp_path: Path) -> None:
    fence = Fence(tmp_path / "fence", "attempt-1")
    log = EventLog(tmp_path / "events.jsonl", 1, fence=fence)
    log.write("step", step=1)
    (tmp_path / "fence").write_text("attempt-2")
    with pytest.raises(Fenced):
        log.write("step", step=2)
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 1


def test_who_failed_first_is_told_from_who_follows(tmp_path: Path) -> None:
    mine, other = EventLog(tmp_path / "events.jsonl", 2), EventLog(tmp_path / "events.jsonl", 1)
    assert mine.failure() is None
    other.write("failed", code="CRASHED")
    mine.write("started")
    assert mine.failure() is None
    mine.write("failed", code="CRASHED")
    mine.write("step", step=1)
    assert mine.failure() == "CRASHED"
    mine.write("started")  # the same attempt, put back into the queue
    assert mine.failure() is None
