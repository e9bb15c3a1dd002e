"""`infer` on the tiny model: histories, order, batches."""

from __future__ import annotations

import hashlib
import json
import wave
from pathlib import Path
from typing import Any

import numpy
import pytest
from support import answering, corpus, jobs
from support.spy import Spy

from understudy_payload import speaker
from understudy_payload.generation import Prompt, Replies, Writer

ROLES = ["monk", "pirate"]


def test_answers_are_complete_ordered_and_described(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    rows = answering.rows(tmp_path / "base")
    assert [(row["dialogue"], row["turn"]) for row in rows] == [
        (f"{role}-{number:03}", turn) for role in ROLES for number in range(4) for turn in range(1 + number % 2)
    ]
    done = json.loads((tmp_path / "base" / "_DONE.json").read_text())
    data = (tmp_path / "base" / "answers.jsonl").read_bytes()
    heard = [row for row in rows if row["audio"]]
    lines = sorted(f"{row['audio']} {row['sha256']}\n" for row in heard)
    assert done == {
        "schemaVersion": 1, "rows": len(rows), "sha256": hashlib.sha256(data).hexdigest(),
        "audioSha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
    }  # fmt: skip
    assert heard
    for row in heard:
        path = tmp_path / "base" / row["audio"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == row["sha256"]
        with wave.open(str(path)) as sound:
            samples = numpy.frombuffer(sound.readframes(sound.getnframes()), "<i2")
        # a random voice is noise, but it is to be heard
        assert numpy.abs(samples).max() > 1000
        with wave.open(str(path)) as file:
            assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
            assert file.getnframes() / 24_000 == row["seconds"] > 0
            assert path.stat().st_size == 44 + 2 * file.getnframes()
    assert not list((tmp_path / "base").rglob("*.tmp"))
    assert [event["type"] for event in jobs.events(tmp_path)] == ["started", "progress", "finished"]
    assert jobs.events(tmp_path, "progress")[-1] | {"done": 8, "total": 8} == jobs.events(tmp_path, "progress")[-1]
    assert jobs.events(tmp_path, "finished")[0]["instances"] == len(rows)


def test_history_is_heard_and_the_model_s_own(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = Spy(monkeypatch)
    assert jobs.run_here(tmp_path, job) == 0
    tokenizer = speaker.load_tokenizer(Path(job["model"]["path"]))
    texts = {(row["dialogue"], row["turn"]): row["text"] for row in answering.rows(tmp_path / "base")}
    reference = {row["id"]: row["turns"] for row in corpus.greenroom(4)}
    second = {name: prompt for name, prompt in spy.prompts.items() if name.endswith("/1")}
    assert len(second) == 4
    for name, prompt in second.items():
        dialogue = name.rsplit("/", 1)[0]
        read = tokenizer.decode(prompt.ids)
        assert f"assistant\n{texts[dialogue, 0]}<|im_end|>" in read
        assert reference[dialogue][0]["role_text"] not in read
        assert len(prompt.clips) == 2 and read.count("<|audio_bos|>") == 2
    for prompt in spy.prompts.values():
        assert "question" not in tokenizer.decode(prompt.ids)  # every user_text of this corpus has the word


def test_batches_hold_one_turn_and_similar_lengths(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = Spy(monkeypatch)
    assert jobs.run_here(tmp_path, job) == 0
    assert [len(batch) for batch in spy.batches] == [3, 3, 2, 3, 1]
    for batch in spy.batches:
        assert len({name.rsplit("/", 1)[1] for name in batch}) == 1
    lengths = [len(spy.prompts[name].ids) for batch in spy.batches[:3] for name in batch]
    assert lengths == sorted(lengths)


def test_text_is_fit_for_json(tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A base model may say any token, control characters among them."""
    spy = Spy(monkeypatch)
    write = Writer.write
    tokenizer = speaker.load_tokenizer(Path(job["model"]["path"]))
    wild = tokenizer("\x00A\x07y\te\n!\x1b").input_ids

    def writing(writer: Writer, thinker: Any, prompts: list[Prompt]) -> Replies:
        replies = write(writer, thinker, prompts)
        return Replies([wild for _ in replies.tokens], replies.states)

    monkeypatch.setattr(Writer, "write", writing)
    assert jobs.run_here(tmp_path, job) == 0
    assert {row["text"] for row in answering.rows(tmp_path / "base")} == {"Ay\te\n!"}
    # what was written down is what stands in the history
    assert "assistant\nAy\te\n!<|im_end|>" in tokenizer.decode(spy.prompts["monk-001/1"].ids)


def test_a_suite_without_dialogues_is_an_error(tmp_path: Path, job: dict[str, Any]) -> None:
    job["tasks"][0]["suite"]["roles"] = ["nobody"]
    assert jobs.run_here(tmp_path, job) == 2
    assert jobs.events(tmp_path, "failed")[0]["code"] == "SUITE_EMPTY"


def test_no_task_is_nothing_to_do(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, {**job, "tasks": []}) == 0
    assert jobs.events(tmp_path, "finished")[0]["instances"] == 0
