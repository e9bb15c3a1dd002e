"""`measure` as a job: rows, reasons, going on where it ended."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from support import answering, jobs
from support.sounds import glide

from understudy_payload import measure as module
from understudy_payload.acoustics import UNITS
from understudy_payload.answer_audio import audio_name, quantise, write_wav
from understudy_payload.tasks import write_json

TEXT = "Ahoy there"


def answer(folder: Path, dialogue: str, samples: numpy.ndarray | None) -> dict[str, Any]:
    name = audio_name(dialogue, 0)
    digest = None if samples is None else write_wav(folder / name, quantise(samples))
    return {
        "dialogue": dialogue, "role": "pirate", "language": "en", "kind": "single", "turn": 0, "text": TEXT,
        "audio": digest and name, "sha256": digest, "seconds": 0.0, "textTokens": 3, "latencySeconds": 0.1,
        "failure": None,
    }  # fmt: skip


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    folder = tmp_path / "answers"
    sound = glide(120, 240, 1.0, 24_000)
    rows = [answer(folder, f"d{number}", sound) for number in range(5)] + [answer(folder, "d5", None)]
    (folder / rows[1]["audio"]).unlink()
    (folder / rows[2]["audio"]).write_bytes(b"something else")
    (folder / rows[3]["audio"]).write_bytes(b"RIFF")
    rows[3]["sha256"] = hashlib.sha256(b"RIFF").hexdigest()
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write_json(folder / "_DONE.json", {"schemaVersion": 1, "rows": len(rows), "sha256": ""})
    return folder


@pytest.fixture
def job(tmp_path: Path, answers: Path) -> dict[str, Any]:
    task = {**answering.task("base", tmp_path / "out", tmp_path / "none.parquet", []), "answers": str(answers)}
    return jobs.manifest("measure", tmp_path, tmp_path / "no-model", tasks=[task])


def rows(folder: Path) -> list[dict[str, Any]]:
    return answering.rows(folder / "out", "measures.jsonl")


def test_every_answer_has_every_measure(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    found = rows(tmp_path)
    assert [(row["dialogue"], row["measure"]) for row in found] == [
        (f"d{number}", name) for number in range(6) for name in UNITS
    ]
    assert all(row["unit"] == UNITS[row["measure"]] for row in found)
    assert all((row["value"] is None) == (row["reason"] is not None) for row in found)
    whole = {row["measure"]: row["value"] for row in found[: len(UNITS)]}
    assert whole["duration"] == 1.0 and whole["characters_per_second"] == 9.0
    assert all(1 <= whole[f"dnsmos_{name}"] <= 5 for name in ("sig", "bak", "ovrl"))
    assert found[0] == {
        "dialogue": "d0", "role": "pirate", "language": "en", "kind": "single", "turn": 0,
        "measure": "duration", "value": 1.0, "unit": "s", "reason": None,
    }  # fmt: skip
    assert jobs.events(tmp_path, "finished")[0]["instances"] == len(found)


def test_absent_audio_is_never_a_value(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    reasons = {"d1": "audio_missing", "d2": "audio_changed", "d3": "audio_unreadable", "d5": "no_audio"}
    for dialogue, reason in reasons.items():
        found = [(row["value"], row["reason"]) for row in rows(tmp_path) if row["dialogue"] == dialogue]
        assert found == [(None, reason)] * len(UNITS)


def test_without_the_weights_only_opinions_are_absent(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_weights", lambda: None)
    assert jobs.run_here(tmp_path, job) == 0
    absent = {row["measure"]: row["reason"] for row in rows(tmp_path)[: len(UNITS)] if row["value"] is None}
    assert absent == {f"dnsmos_{name}": "unavailable" for name in ("sig", "bak", "ovrl")}


def test_interrupted_anywhere_and_resumed_is_the_same(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    path = tmp_path / "out" / "measures.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for kept, torn in ((0, 10), (3, 0), (len(UNITS), 5), (len(UNITS) * 4 + 1, 20), (len(lines), 0)):
        path.write_bytes(b"".join(lines[:kept]) + b"".join(lines[kept : kept + 1])[:torn])
        (tmp_path / "out" / "_DONE.json").unlink()
        assert jobs.run_here(tmp_path, job) == 0
        assert path.read_bytes() == whole


def test_stop_is_honoured(tmp_path: Path, job: dict[str, Any]) -> None:
    stop = Path(job["paths"]["stop"])
    stop.touch()
    assert jobs.run_here(tmp_path, job) == 3
    assert not (tmp_path / "out" / "_DONE.json").exists()
    stop.unlink()
    assert jobs.run_here(tmp_path, job) == 0
    assert jobs.run_here(tmp_path, job) == 0  # done: skipped
    assert len(rows(tmp_path)) == 6 * len(UNITS)


def test_unfinished_answers_are_refused(tmp_path: Path, job: dict[str, Any], answers: Path) -> None:
    (answers / "_DONE.json").unlink()
    assert jobs.run_here(tmp_path, job) == 2
    assert jobs.events(tmp_path, "failed")[0]["code"] == "ANSWERS_UNFINISHED"


def test_no_answers_is_an_empty_result(tmp_path: Path, job: dict[str, Any], answers: Path) -> None:
    (answers / "answers.jsonl").write_text("")
    assert jobs.run_here(tmp_path, job) == 0
    assert rows(tmp_path) == [] and (tmp_path / "out" / "_DONE.json").exists()
