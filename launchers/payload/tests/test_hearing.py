"""The model hears: when only the user's audio tells dialogues apart, exchanging the audio ruins what was learnt."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from support import corpus, jobs
from understudy_payload.collate import Collator
from understudy_payload.conversation import Encoder
from understudy_payload.likelihood import LabelLikelihood
from understudy_payload.modeling import load_extractor, load_thinker, load_tokenizer
from understudy_payload.shards import Shards

REPLIES = ("Aye!", "Never, sir.", "Perhaps.", "So be it", "最后", "去吧！", "1234567", "Zounds")
STEPS = 120


# bf16 is what the recipes run: an embedding or a position that it rounds away would be missed in fp32
@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_exchanged_audio_is_noticed(precision: str, tmp_path: Path, model: Path) -> None:
    rows = [
        corpus.dialogue(f"d{n}", "poet", [text], language="en", card="Be a poet.", seed=n)
        for n, text in enumerate(REPLIES)
    ]
    own = corpus.write_shard(tmp_path / "own.parquet", rows)
    clips = [row["turns"][0]["user_audio"] for row in rows]
    for row, clip in zip(rows, clips[1:] + clips[:1]):
        row["turns"][0]["user_audio"] = clip
    exchanged = corpus.write_shard(tmp_path / "exchanged.parquet", rows)
    value = jobs.train_manifest(
        tmp_path, model, {"train": own, "dev": exchanged}, mode="full", lora=None, precision=precision, steps=STEPS,
        learningRate=6e-3, globalBatch=8, microBatch=8, saveEverySteps=1_000, evalEverySteps=1_000, logEverySteps=50,
    )  # fmt: skip
    assert jobs.run_here(tmp_path, value) == 0
    thinker = load_thinker(tmp_path / f"output/checkpoint-{STEPS}", torch.float32).eval()
    autocast = precision == "bf16"
    assert nll(thinker, model, own, autocast) < 0.1
    assert nll(thinker, model, exchanged, autocast) > 1.0


def nll(thinker: torch.nn.Module, model: Path, shard: Path, autocast: bool) -> float:
    """Nats per label token over a shard, computed as in training."""
    tokenizer, shards = load_tokenizer(model), Shards([shard])
    encoder = Encoder(tokenizer, jobs.PREAMBLE)
    batch = Collator(load_extractor(model), tokenizer.pad_token_id)([encoder.encode(each) for each in shards])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        return LabelLikelihood(thinker).losses(thinker, batch).mean().item()

