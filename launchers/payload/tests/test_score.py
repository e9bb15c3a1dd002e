from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch
from support import corpus, jobs
from understudy_payload.collate import Collator
from understudy_payload.conversation import Encoder
from understudy_payload.modeling import load_extractor, load_system, load_tokenizer
from understudy_payload.shards import Shards


def score_manifest(
    folder: Path, model: Path, shard: Path, checkpoint: Path | None, precision: str = "fp32", batch: int = 3
) -> dict:
    task = {
        "system": {"id": "tuned", "checkpoint": checkpoint and str(checkpoint), "speaker": "Ethan"},
        "suite": {"id": "test/seen", "shards": [str(shard)], "roles": list(corpus.ROLES)},
        "output": str(folder / "output/tuned"),
    }
    return jobs.manifest("score", folder, model, tasks=[task], scoring={"batch": batch, "precision": precision})


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "output/tuned/scores.jsonl").read_text().splitlines()]


def test_scores_equal_an_independent_computation(tmp_path: Path, model: Path, data: dict, trained: Path) -> None:
    checkpoint = trained / "output/checkpoint-8"
    assert jobs.run_here(tmp_path, score_manifest(tmp_path, model, data["dev"], checkpoint)) == 0
    thinker = load_system(model, checkpoint, torch.float32)
    tokenizer = load_tokenizer(model)
    encoder, collate = Encoder(tokenizer, jobs.PREAMBLE), Collator(load_extractor(model), tokenizer.pad_token_id)
    shards = Shards([data["dev"]])
    expected = []
    for dialogue in sorted((shards[at] for at in range(len(shards))), key=lambda dialogue: dialogue.id):
        inputs = collate([encoder.encode(dialogue)])
        labels = inputs.pop("labels")[0]
        with torch.no_grad():
            logs = thinker(**inputs).logits[0].double().log_softmax(-1)
        sums, inside = [], False
        for at in range(1, len(labels)):
            if labels[at] != -100:
                sums = sums if inside else [*sums, 0.0]
                sums[-1] -= logs[at - 1, labels[at]].item()
            inside = bool(labels[at] != -100)
        expected += [(dialogue.id, turn.index, nll) for turn, nll in zip(dialogue.turns, sums, strict=True)]
    found = rows(tmp_path)
    assert [(row["dialogue"], row["turn"]) for row in found] == [(name, turn) for name, turn, _ in expected]
    assert [row["nll"] for row in found] == pytest.approx([nll for _, _, nll in expected], rel=1e-4)
    first = found[0]
    assert set(first) == {"dialogue", "role", "language", "kind", "turn", "tokens", "nll"}
    done = json.loads((tmp_path / "output/tuned/_DONE.json").read_text())
    digest = hashlib.sha256((tmp_path / "output/tuned/scores.jsonl").read_bytes()).hexdigest()
    assert done == {"schemaVersion": 1, "rows": len(found), "sha256": digest}
    assert jobs.events(tmp_path, "progress")[-1]["done"] == len(shards)
    assert jobs.events(tmp_path)[-1]["instances"] == len(found)


def test_scores_agree_with_the_evaluation_while_training(tmp_path: Path, model: Path, data: dict) -> None:
    value = jobs.train_manifest(tmp_path / "train", model, data, precision="fp32", steps=2)
    assert jobs.run_here(tmp_path / "train", value) == 0
    (evaluated,) = jobs.events(tmp_path / "train", "eval")
    checkpoint = tmp_path / "train/output/checkpoint-2"
    assert jobs.run_here(tmp_path, score_manifest(tmp_path, model, data["dev"], checkpoint)) == 0
    found = rows(tmp_path)
    assert sum(row["tokens"] for row in found) == evaluated["tokens"]
    assert sum(row["nll"] for row in found) / evaluated["tokens"] == pytest.approx(evaluated["loss"], rel=1e-4)


def test_twice_the_same_and_the_same_after_a_torn_line(tmp_path: Path, model: Path, data: dict, trained: Path) -> None:
    checkpoint = trained / "output/checkpoint-8"
    for name in ("one", "two"):
        value = score_manifest(tmp_path / name, model, data["dev"], checkpoint, "bf16")
        assert jobs.run_here(tmp_path / name, value) == 0
    whole = (tmp_path / "one/output/tuned/scores.jsonl").read_bytes()
    assert (tmp_path / "two/output/tuned/scores.jsonl").read_bytes() == whole
    (tmp_path / "two/output/tuned/_DONE.json").unlink()
    (tmp_path / "two/output/tuned/scores.jsonl").write_bytes(whole[: len(whole) * 2 // 3])
    assert jobs.run_here(tmp_path / "two", value) == 0
    assert (tmp_path / "two/output/tuned/scores.jsonl").read_bytes() == whole
    assert (tmp_path / "two/output/tuned/_DONE.json").exists()


def test_a_fenced_attempt_scores_nothing(tmp_path: Path, model: Path, data: dict) -> None:
    (tmp_path / "fence").write_text("attempt-2")
    assert jobs.run_here(tmp_path, score_manifest(tmp_path, model, data["dev"], None)) == 75
    assert not (tmp_path / "output").exists() and not (tmp_path / "events.jsonl").exists()


def test_a_request_to_stop(tmp_path: Path, model: Path, data: dict) -> None:
    (tmp_path / "STOP").touch()
    assert jobs.run_here(tmp_path, score_manifest(tmp_path, model, data["dev"], None)) == 3
    stopped = jobs.events(tmp_path)[-1]
    assert (stopped["type"], stopped["done"], stopped["total"]) == ("stopped", 0, 8) and "step" not in stopped


def test_an_incomplete_checkpoint_is_refused(tmp_path: Path, model: Path, data: dict, copy_of_trained: Path) -> None:
    checkpoint = copy_of_trained / "output/checkpoint-8"
    (checkpoint / "_COMPLETE.json").unlink()
    assert jobs.run_here(tmp_path, score_manifest(tmp_path, model, data["dev"], checkpoint)) == 2
    assert jobs.events(tmp_path, "failed")[0]["code"] == "CHECKPOINT_INCOMPLETE"
