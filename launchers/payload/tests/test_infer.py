"""`infer` on the tiny model: histories, failures, order, stopping."""

from __future__ import annotations

import hashlib
import json
import wave
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from support import answering, corpus, jobs

from understudy_payload import speaker, vocoder
from understudy_payload.generation import Prompt, Replies, Writer

ROLES = ["monk", "pirate"]


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus.write_shard(tmp_path_factory.mktemp("data") / "shard.parquet", corpus.greenroom(4))


@pytest.fixture
def job(tmp_path: Path, model: Path, shard: Path) -> dict[str, Any]:
    return answering.infer_manifest(tmp_path, model, [answering.task("base", tmp_path / "base", shard, ROLES)])


class Spy:
    """Keeps every prompt that was written to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.prompts: dict[str, Prompt] = {}
        self.batches: list[list[str]] = []
        write = Writer.write

        def spy(writer: Writer, thinker: Any, prompts: list[Prompt]) -> Replies:
            self.prompts |= {prompt.name: prompt for prompt in prompts}
            self.batches.append([prompt.name for prompt in prompts])
            return write(writer, thinker, prompts)

        monkeypatch.setattr(Writer, "write", spy)


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


def test_every_failure_is_a_row_and_costs_no_other(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jobs.run_here(tmp_path, job) == 0
    healthy = {(row["dialogue"], row["turn"]): row for row in answering.lasting(tmp_path / "base")}
    write, codec_ids, sound = Writer.write, speaker.codec_ids, vocoder.samples_of

    def writing(writer: Writer, thinker: Any, prompts: list[Prompt]) -> Replies:
        if any(prompt.name == "monk-000/0" for prompt in prompts):
            raise RuntimeError("spoilt prompt")
        replies = write(writer, thinker, prompts)
        silent = {row for row, prompt in enumerate(prompts) if prompt.name == "monk-002/0"}
        return Replies([[] if row in silent else each for row, each in enumerate(replies.tokens)], replies.states)

    def coding(*arguments: Any) -> list[torch.Tensor]:
        codes = codec_ids(*arguments)
        seeds = arguments[4]
        return [each[:0] if seed == seed_of_codes("pirate-000/0") else each for each, seed in zip(codes, seeds)]

    def sounding(omni: Any, voice: Any, codes: torch.Tensor, seed: int, steps: int) -> Any:
        if seed == speaker.seed_of(5, "pirate-001/0", "sound"):
            monkeypatch.setattr(omni.token2wav, "forward", lambda *_, **__: torch.tensor([0.0, float("nan")]))
            try:
                return sound(omni, voice, codes, seed, steps)
            finally:
                monkeypatch.delattr(omni.token2wav, "forward")
        if seed == speaker.seed_of(5, "pirate-002/0", "sound"):
            raise RuntimeError("code beyond the codebook")
        return sound(omni, voice, codes, seed, steps)

    def seed_of_codes(name: str) -> int:
        return speaker.seed_of(5, name, "codes")

    monkeypatch.setattr(Writer, "write", writing)
    monkeypatch.setattr(speaker, "codec_ids", coding)
    monkeypatch.setattr(speaker, "samples_of", sounding)
    job["tasks"][0]["output"] = str(tmp_path / "broken")
    assert jobs.run_here(tmp_path, job) == 0
    broken = {(row["dialogue"], row["turn"]): row for row in answering.lasting(tmp_path / "broken")}
    assert broken.keys() == healthy.keys()
    wanted = {
        "monk-000": "TEXT_FAILED", "monk-002": "EMPTY_TEXT", "pirate-000": "NO_AUDIO",
        "pirate-001": "AUDIO_NOT_FINITE", "pirate-002": "SPEECH_FAILED",
    }  # fmt: skip
    for dialogue, code in wanted.items():
        row = broken[dialogue, 0]
        assert row["failure"]["code"] == code and row["failure"]["message"]
        assert (row["audio"], row["sha256"], row["seconds"]) == (None, None, 0.0)
        expected = "" if code in ("TEXT_FAILED", "EMPTY_TEXT") else healthy[dialogue, 0]["text"]
        assert row["text"] == expected
    assert broken["monk-003", 0]["failure"] == healthy["monk-003", 0]["failure"]
    assert broken["monk-003", 0]["text"] == healthy["monk-003", 0]["text"]


def test_the_machine_s_fault_ends_the_job(
    tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(Writer, "write", full)
    assert jobs.run_here(tmp_path, job) == 1
    assert jobs.events(tmp_path, "failed")[0]["code"] == "OUT_OF_MEMORY"
    assert answering.rows_or_none(tmp_path / "base") == []


@pytest.mark.parametrize("place", ["write", "codec_ids", "samples_of"])
@pytest.mark.parametrize(
    "error",
    [
        TypeError("unexpected keyword argument"), AttributeError("no attribute"), NotImplementedError("not yet"),
        KeyError("past_key_values"), RuntimeError("CUDA error: unspecified launch failure"),
    ],
)  # fmt: skip
def test_a_bug_of_ours_is_no_bad_answer(
    place: str, error: Exception, tmp_path: Path, job: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Writer if place == "write" else speaker, place, broken)
    # a GPU that fails is no bug, but no bad answer either
    code, name = (69, "DEVICE_LOST") if "CUDA" in str(error) else (1, "CRASHED")
    assert jobs.run_here(tmp_path, job) == code
    (failed,) = jobs.events(tmp_path, "failed")
    assert failed["code"] == name and type(error).__name__ in failed["message"]
    assert answering.rows_or_none(tmp_path / "base") == []


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


def test_a_suite_without_dialogues_is_an_error(tmp_path: Path, job: dict[str, Any]) -> None:
    job["tasks"][0]["suite"]["roles"] = ["nobody"]
    assert jobs.run_here(tmp_path, job) == 2
    assert jobs.events(tmp_path, "failed")[0]["code"] == "SUITE_EMPTY"


def test_no_task_is_nothing_to_do(tmp_path: Path, job: dict[str, Any]) -> None:
    assert jobs.run_here(tmp_path, {**job, "tasks": []}) == 0
    assert jobs.events(tmp_path, "finished")[0]["instances"] == 0


def test_a_fenced_attempt_writes_nothing(tmp_path: Path, job: dict[str, Any]) -> None:
    Path(job["paths"]["fence"]).write_text("another attempt")
    assert jobs.run_here(tmp_path, job) == 75
    assert not (tmp_path / "base").exists() and not Path(job["paths"]["events"]).exists()
