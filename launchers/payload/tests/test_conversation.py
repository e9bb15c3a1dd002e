from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch
from support import corpus, jobs
from understudy_payload.collate import mel_features, prompt_batch
from understudy_payload.conversation import IGNORED, Encoder, audio_tokens
from understudy_payload.errors import DataError
from understudy_payload.modeling import load_extractor, load_thinker, load_tokenizer
from understudy_payload.shards import Dialogue, Shards


@pytest.fixture(scope="module")
def tokenizer(model: Path):
    return load_tokenizer(model)


@pytest.fixture(scope="module")
def encoder(tokenizer) -> Encoder:
    return Encoder(tokenizer, jobs.PREAMBLE)


def read(tmp_path: Path, **change: object) -> Dialogue:
    row = corpus.dialogue("d", "poet", ["First.", "第二。", "Third!"], language="en", card="Be a poet.", seed=1)
    row.update(change)
    return Shards([corpus.write_shard(tmp_path / "one.parquet", [row])])[0]


def test_the_text_of_a_dialogue(tmp_path: Path, encoder: Encoder, tokenizer) -> None:
    encoded = encoder.encode(read(tmp_path))
    text = tokenizer.decode(encoded.input_ids).replace("<|AUDIO|>" * 12, "♪")
    user = "<|im_start|>user\n<|audio_bos|>♪<|audio_eos|><|im_end|>\n<|im_start|>assistant\n"
    assert text == (
        f"<|im_start|>system\n{jobs.PREAMBLE}\nBe a poet.<|im_end|>\n"
        f"{user}First.<|im_end|>\n{user}第二。<|im_end|>\n{user}Third!<|im_end|>\n"
    )


def test_the_model_hears_and_does_not_read(tmp_path: Path, encoder: Encoder) -> None:
    before = encoder.encode(read(tmp_path))
    row = corpus.dialogue("d", "poet", ["First.", "第二。", "Third!"], language="en", card="Be a poet.", seed=1)
    for turn in row["turns"]:
        turn["user_text"] = "something else entirely"
    after = encoder.encode(Shards([corpus.write_shard(tmp_path / "two.parquet", [row])])[0])
    assert (after.input_ids, after.labels) == (before.input_ids, before.labels)


def test_labels_are_the_role_text_and_its_end(tmp_path: Path, encoder: Encoder, tokenizer) -> None:
    encoded = encoder.encode(read(tmp_path))
    spans = [tokenizer.decode(encoded.input_ids[span.start : span.end]) for span in encoded.spans]
    assert spans == ["First.<|im_end|>", "第二。<|im_end|>", "Third!<|im_end|>"]
    inside = {at for span in encoded.spans for at in range(span.start, span.end)}
    for at, (token, label) in enumerate(zip(encoded.input_ids, encoded.labels, strict=True)):
        assert label == (token if at in inside else IGNORED)


def test_no_card_leaves_the_preamble_alone(tmp_path: Path, encoder: Encoder, tokenizer) -> None:
    text = tokenizer.decode(encoder.encode(read(tmp_path, system_prompt=None)).input_ids)
    assert text.startswith(f"<|im_start|>system\n{jobs.PREAMBLE}<|im_end|>\n<|im_start|>user\n")


def test_markup_in_the_data_stays_text(encoder: Encoder, tokenizer) -> None:
    ids = encoder.target("bye<|im_end|>")
    assert ids.count(tokenizer.convert_tokens_to_ids("<|im_end|>")) == 1
    assert tokenizer.decode(ids) == "bye<|im_end|><|im_end|>"


def test_a_prompt_is_a_prefix_of_the_dialogue(tmp_path: Path, encoder: Encoder) -> None:
    dialogue = read(tmp_path)
    encoded = encoder.encode(dialogue)
    clips = [dialogue.samples(turn) for turn in dialogue.turns]
    replies = [turn.text for turn in dialogue.turns]
    for turn, span in enumerate(encoded.spans):
        assert encoder.prompt("Be a poet.", clips[: turn + 1], replies[:turn]) == encoded.input_ids[: span.start]


def test_truncation_drops_the_oldest_whole_turns(tmp_path: Path, encoder: Encoder, tokenizer) -> None:
    dialogue = read(tmp_path)
    whole = encoder.encode(dialogue)
    assert encoder.encode(dialogue, len(whole.input_ids)).dropped_turns == 0
    cut = encoder.encode(dialogue, len(whole.input_ids) - 1)
    assert (cut.dropped_turns, len(cut.clips), [span.turn for span in cut.spans]) == (1, 2, [1, 2])
    assert tokenizer.decode(cut.input_ids).startswith(f"<|im_start|>system\n{jobs.PREAMBLE}\nBe a poet.")
    last = encoder.encode(dialogue, len(cut.input_ids) - 1)
    assert last.dropped_turns == 2
    with pytest.raises(DataError, match="dialogue d: its last turn alone"):
        encoder.encode(dialogue, len(last.input_ids) - 1)


@pytest.mark.parametrize("samples", [640, 1_000, 8_000, 15_999, 16_000, 16_160, 16_321, 33_333, 160_000])
def test_token_arithmetic_is_the_models(model: Path, samples: int) -> None:
    thinker = load_thinker(model, torch.float32)
    features = mel_features(load_extractor(model), [numpy.zeros(samples, numpy.float32)])
    heard = thinker.get_audio_features(**features, return_dict=True).last_hidden_state
    assert len(heard) == audio_tokens(samples)


def test_tight_features_equal_the_official_padding(model: Path) -> None:
    extractor = load_extractor(model)
    random = numpy.random.default_rng(0)
    clips = [random.standard_normal(length).astype(numpy.float32) * 0.1 for length in (8_000, 23_456, 5_170)]
    tight = mel_features(extractor, clips)
    options = {"padding": "max_length", "return_attention_mask": True, "return_tensors": "pt"}
    official = extractor(clips, sampling_rate=16_000, **options)
    frames = tight["input_features"].shape[-1]
    assert official.input_features.shape[-1] == 30_000 and frames == 147
    mask = tight["feature_attention_mask"].bool()
    assert torch.equal(official.attention_mask[:, :frames].bool(), mask)
    assert official.attention_mask.sum() == mask.sum()
    assert torch.equal(tight["input_features"], official.input_features[:, :, :frames])


def test_every_clip_of_a_batch_has_as_many_placeholders_as_sounds(model: Path, encoder: Encoder, tokenizer) -> None:
    # lengths around every rounding of frames and tokens; a clip that is not the longest keeps its begun frame
    clips = [numpy.zeros(length, numpy.float32) for length in range(5_000, 6_000, 37)]
    heard = load_thinker(model, torch.float32)
    rows = [encoder.user(len(clip)) for clip in clips]
    inputs = prompt_batch(rows, clips, load_extractor(model), tokenizer.pad_token_id, "right")
    with torch.no_grad():
        heard(**inputs)  # raises when placeholders and audio features differ in number
    for clip, row in zip(clips, rows, strict=True):
        features = mel_features(load_extractor(model), [clip])
        sounds = heard.get_audio_features(**features, return_dict=True).last_hidden_state
        assert row.count(tokenizer.convert_tokens_to_ids("<|AUDIO|>")) == len(sounds)


def test_a_clip_beyond_five_minutes_is_heard_to_its_end(model: Path) -> None:
    """The official extractor cuts silently there."""
    features = mel_features(load_extractor(model), [numpy.zeros(301 * 16_000, dtype=numpy.float32)])
    assert features["input_features"].shape[-1] == features["feature_attention_mask"].sum() == 30_100
