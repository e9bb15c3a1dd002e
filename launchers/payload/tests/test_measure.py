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
from understudy_payload.errors import Fenced
from understudy_payload.stopping import Fence
from understudy_payload.files import write_json
from understudy_payload.tasks import ResultFile

TEXT = "Ahoy there"


def answer(folder: Path, dialogue: str, samples: numpy.ndarray | None) -> dict[str, Any]:
    name = audio_name(dialogue, 0)
    digest = None if samples is None else write_wav(folder / name, quantise(samples), lambda: None)
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
    write_json(folder / "_DONE.json", {"schemaVersion": 1, "rows": len(rows), "sha256": ""}, lambda: None)
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
    (stopped,) = jobs.events(tmp_path, "stopped")
    assert (stopped["done"], stopped["total"]) == (0, 6) and "step" not in stopped
    assert not (tmp_path / "out" / "_DONE.json").exists()
    stop.unlink()
    assert jobs.run_here(tmp_path, job) == 0
    assert jobs.run_here(tmp_path, job) == 0  # done: skipped
    assert len(rows(tmp_path)) == 6 * len(UNITS)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def done(tmp_path: Path) -> dict[str, Any]:
    return json.loads((tmp_path / "out" / "_DONE.json").read_text())


def test_measures_name_the_answers_they_belong_to(tmp_path: Path, job: dict[str, Any], answers: Path) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    source = {"schemaVersion": 1, "answersSha256": digest(answers / "answers.jsonl")}
    assert json.loads((tmp_path / "out" / "_SOURCE.json").read_text()) == source
    measured = digest(tmp_path / "out" / "measures.jsonl")
    assert done(tmp_path) == {**source, "rows": 6 * len(UNITS), "sha256": measured}


@pytest.mark.parametrize("finished", [True, False])
def test_other_answers_are_measured_anew(finished: bool, tmp_path: Path, job: dict[str, Any], answers: Path) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    if not finished:
        (tmp_path / "out" / "_DONE.json").unlink()
    path = answers / "answers.jsonl"
    path.write_text(path.read_text().replace(TEXT, TEXT * 2))
    assert jobs.run_here(tmp_path, job) == 0
    found = rows(tmp_path)
    assert len(found) == 6 * len(UNITS) and found[3]["measure"] == "characters_per_second"
    assert found[3]["value"] == 18.0
    assert done(tmp_path)["answersSha256"] == digest(path)


@pytest.mark.parametrize("source", [None, "", "{}"])
def test_measures_of_nobody_knows_what_begin_anew(source: str | None, tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    whole = (tmp_path / "out" / "measures.jsonl").read_bytes()
    (tmp_path / "out" / "measures.jsonl").write_bytes(whole.replace(b"1.0", b"2.0"))
    if source is None:
        (tmp_path / "out" / "_SOURCE.json").unlink()
    else:
        (tmp_path / "out" / "_SOURCE.json").write_text(source)
    assert jobs.run_here(tmp_path, job) == 0
    assert (tmp_path / "out" / "measures.jsonl").read_bytes() == whole


def test_a_fenced_attempt_takes_nothing_away(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    fence = Path(job["paths"]["fence"])
    fence.write_text("another attempt")
    with pytest.raises(Fenced):
        ResultFile(tmp_path / "out", "measures.jsonl", Fence(fence, jobs.TOKEN)).made_from({"answersSha256": "other"})
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_unfinished_answers_are_refused(tmp_path: Path, job: dict[str, Any], answers: Path) -> None:
    (answers / "_DONE.json").unlink()
    assert jobs.run_here(tmp_path, job) == 2
    assert jobs.events(tmp_path, "failed")[0]["code"] == "ANSWERS_UNFINISHED"


def test_no_answers_is_an_empty_result(tmp_path: Path, job: dict[str, Any], answers: Path) -> None:
    (answers / "answers.jsonl").write_text("")
    assert jobs.run_here(tmp_path, job) == 0
    assert rows(tmp_path) == [] and (tmp_path / "out" / "_DONE.json").exists()
