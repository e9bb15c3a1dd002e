from __future__ import annotations

import json
from pathlib import Path

from understudy_payload.events import EventLog


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
