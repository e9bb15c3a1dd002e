"""What a system does wrong costs it a turn; what the machine or this code does wrong ends the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from support import answering, jobs

from understudy_payload import speaker, vocoder
from understudy_payload.generation import Prompt, Replies, Writer


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
