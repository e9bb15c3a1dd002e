"""A tiny random Qwen2.5-Omni that runs the real code paths on a laptop: hears, speaks, trains, merges.

It knows nothing; its shapes are the smallest that satisfy every constraint between thinker, talker and vocoder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from .errors import PayloadError
from .revision import folder_revision
from .tiny_config import SPEAKERS, tiny_config, tiny_tokenizer

# Standard deviations of random weights that stay frozen while the rest learns. With the usual 0.02 the output layer
# could not express a sharp distribution, and all sounds would look alike next to the audio encoder's positions.
SPREAD = {
    "model.embed_tokens": 0.1,
    "lm_head": 0.1,
    "audio_tower.conv1": 0.1,
    "audio_tower.conv2": 0.3,
    "audio_tower.proj": 0.1,
}
# Brings the vocoder's output to a standard deviation of about 0.1.
VOCODER_GAIN = 8.0


def build_tiny_model(folder: Path, seed: int) -> str:
    """Write the model folder atomically and return its revision. The same seed gives the same bytes.

    A folder that is there already must hold the same model; PayloadError otherwise.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write(staged, seed)
        _open_up(staged)
        revision = folder_revision(staged)
        if folder.exists():
            if folder_revision(folder) != revision:
                raise PayloadError("FOLDER_TAKEN", f"{folder} holds something else", "remove it or take another folder")
        else:
            os.rename(staged, folder)
        return revision
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _write(folder: Path, seed: int) -> None:
    import torch
    from transformers import GenerationConfig
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import Qwen2_5OmniForConditionalGeneration
    from transformers.models.whisper.feature_extraction_whisper import WhisperFeatureExtractor

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        tokenizer = tiny_tokenizer()
        config = tiny_config(tokenizer)
        model = Qwen2_5OmniForConditionalGeneration(config)
        _spread(model.thinker)
        voices = _voices(tokenizer, config.token2wav_config.dit_config)
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    _amplify(model.token2wav)
    model.thinker.generation_config = GenerationConfig(**ends)
    model.generation_config = GenerationConfig(**ends)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    WhisperFeatureExtractor(
        feature_size=128, sampling_rate=16_000, hop_length=160, chunk_length=300, n_fft=400, return_attention_mask=True
    ).save_pretrained(folder)
    # save_pretrained leaves the voices out, and from_pretrained refuses a folder without them
    torch.save(voices, folder / "spk_dict.pt")


def _spread(thinker: Any) -> None:
    for name, deviation in SPREAD.items():
        thinker.get_submodule(name).weight.data.normal_(0, deviation)


def _amplify(token2wav: Any) -> None:
    # Random weights as small as usual shrink the sound by every layer, to a hundred millionth: digital silence in 16 bits.
    vocoder = token2wav.code2wav_bigvgan_model
    for layer in (vocoder.conv_pre, *(stage[0] for stage in vocoder.ups), vocoder.conv_post):
        layer.weight.data.mul_(VOCODER_GAIN)


def _voices(tokenizer: Any, dit: Any) -> dict[str, dict[str, Any]]:
    import torch

    start = tokenizer.convert_tokens_to_ids("<tts_text_bos>")
    return {
        name: {
            "bos_token": start,
            "cond": torch.randn(1, dit.enc_emb_dim),
            "ref_mel": torch.randn(1, 120, dit.mel_dim),
        }
        for name in SPEAKERS
    }


def _open_up(folder: Path) -> None:
    """Temporary folders and weight files are private; a model folder is for whoever may read its parent."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
