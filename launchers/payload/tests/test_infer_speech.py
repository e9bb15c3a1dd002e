"""The talker and the chance of a turn, against the library's own method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from support import answering

from understudy_payload import talker
from understudy_payload.conversation import Encoder
from understudy_payload.generation import Prompt, Writer
from understudy_payload.modeling import load_extractor, load_omni, load_tokenizer
from understudy_payload.sampling import SeededNoise, sampler, seed_of
from understudy_payload.sections import Decoding
from understudy_payload.vocoder import SpeechError, samples_of

DECODING = Decoding(10, 20, 0.0, 5, 4, 2)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def omni(model: Path) -> Any:
    return load_omni(model, torch.float32)


@pytest.fixture(scope="module")
def prompts(model: Path) -> list[Prompt]:
    encoder = Encoder(load_tokenizer(model), "preamble")
    made = []
    for number, samples in enumerate((8_000, 12_345, 4_800)):
        clip = numpy.random.default_rng(number).standard_normal(samples).astype(numpy.float32) * 0.1
        made.append(Prompt(f"d{number}/0", encoder.prompt("card " * number, [clip], []), [clip]))
    return made


def written(model: Path, omni: Any, prompts: list[Prompt]) -> Any:
    return Writer(load_tokenizer(model), load_extractor(model), DECODING).write(omni.thinker, prompts)


def test_speech_is_that_of_the_library(
    model: Path, omni: Any, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same text, codes and samples as `generate` of the whole model, greedy, for a batch with padding."""
    monkeypatch.setattr(talker, "TEMPERATURE", 0)
    ours = written(model, omni, prompts)
    voice = omni.speaker_map["Chelsie"]
    codes = talker.codec_ids(omni, voice, ours.states, range(len(prompts)), [0] * len(prompts), 20)

    seen: list[torch.Tensor] = []
    forward = omni.token2wav.forward
    monkeypatch.setattr(omni.token2wav, "forward", lambda code, **rest: seen.append(code[0]) or forward(code, **rest))
    features = load_extractor(model)
    from understudy_payload.collate import prompt_batch

    tokenizer = load_tokenizer(model)
    clips = [clip for prompt in prompts for clip in prompt.clips]
    inputs = prompt_batch([prompt.ids for prompt in prompts], clips, features, tokenizer.pad_token_id, "left")
    sequences, waves = omni.generate(
        **inputs, speaker="Chelsie", thinker_max_new_tokens=10, thinker_do_sample=False, talker_max_new_tokens=20,
        talker_do_sample=False, talker_eos_token_id=[omni.talker.codec_pad_token, omni.talker.codec_eos_token],
        token2wav_num_steps=2,
    )  # fmt: skip
    new = sequences[:, inputs["input_ids"].shape[1] :]
    for row, tokens in enumerate(ours.tokens):
        assert new[row, : len(tokens)].tolist() == tokens
    assert [each.tolist() for each in codes] == [each.tolist() for each in seen]
    monkeypatch.undo()
    for each, theirs in zip(codes, waves):
        assert len(samples_of(omni, voice, each, 1, 2)) == len(theirs) == 480 * len(each)


def test_a_subset_of_a_batch_speaks_as_in_the_batch(model: Path, omni: Any, prompts: list[Prompt]) -> None:
    ours, voice, seeds = written(model, omni, prompts), omni.speaker_map["Ethan"], [11, 12, 13]
    together = talker.codec_ids(omni, voice, ours.states, [0, 1, 2], seeds, 20)
    alone = talker.codec_ids(omni, voice, ours.states, [2], seeds[2:], 20)
    assert alone[0].tolist() == together[2].tolist()


def test_codes_stay_within_the_codebook(
    model: Path, omni: Any, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(omni.token2wav.code2wav_dit_model.config, "num_embeds", 12)
    ours = written(model, omni, prompts)
    codes = talker.codec_ids(omni, omni.speaker_map["Ethan"], ours.states, [0, 1, 2], [1, 2, 3], 20)
    assert max(code for each in codes for code in each.tolist()) < 12


def test_samples_depend_on_the_seed_alone(omni: Any) -> None:
    codes, voice = torch.arange(10), omni.speaker_map["Ethan"]
    torch.manual_seed(0)
    first = samples_of(omni, voice, codes, 1, 2)
    state = torch.random.get_rng_state()
    assert (samples_of(omni, voice, codes, 1, 2) == first).all()
    assert (samples_of(omni, voice, codes, 2, 2) != first).any()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert first.dtype == numpy.int16 and len(first) == 4_800 and first.std() > 10


def test_no_codes_is_no_audio(omni: Any) -> None:
    with pytest.raises(SpeechError) as caught:
        samples_of(omni, omni.speaker_map["Ethan"], torch.empty(0, dtype=torch.long), 1, 2)
    assert caught.value.code == "NO_AUDIO"


def test_a_row_s_chance_ignores_its_neighbours() -> None:
    logits = torch.zeros(2, 50)
    both = SeededNoise([7, 8], CPU)(torch.empty(2, 0), logits)
    alone = SeededNoise([8], CPU)(torch.empty(1, 0), logits[:1])
    assert torch.equal(both[1], alone[0]) and not torch.equal(both[0], both[1])


def test_noise_samples_from_the_softmax() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    noise = SeededNoise([1], CPU)
    picks = torch.stack([noise(torch.empty(1, 0), logits).argmax() for _ in range(4_000)])
    shares = torch.bincount(picks, minlength=3) / len(picks)
    assert torch.allclose(shares, torch.tensor([0.5, 0.3, 0.2]), atol=0.03)


def test_temperature_nought_is_greedy() -> None:
    assert len(sampler([1], CPU, 0)) == 0
    assert len(sampler([1], CPU, 0.7)) == 2
    assert seed_of(1, "a/0", "text") == seed_of(1, "a/0", "text") != seed_of(1, "a/0", "codes")
