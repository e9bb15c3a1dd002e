"""Shapes and tokenizer of the tiny model. No download: the tokenizer is the 256 bytes and the markup tokens."""

from __future__ import annotations

from typing import Any

SPEAKERS = ("Chelsie", "Ethan")
HIDDEN = 64
HEADS = 2  # cards are long, one token a byte, and attention's cost on a CPU goes with heads × length²
MARKUP = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>", "<|vision_bos|>",
    "<|vision_eos|>", "<|IMAGE|>", "<|VIDEO|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>",
)  # fmt: skip
# The model code asks the tokenizer for these by attribute.
NAMED = {
    "audio_token": "<|AUDIO|>", "audio_bos_token": "<|audio_bos|>", "audio_eos_token": "<|audio_eos|>",
    "image_token": "<|IMAGE|>", "video_token": "<|VIDEO|>",
    "vision_bos_token": "<|vision_bos|>", "vision_eos_token": "<|vision_eos|>",
}  # fmt: skip
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>{% else %}{{ part.text }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_tokenizer() -> Any:
    """Byte-level: encodes any text of any language, one token a byte."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import Qwen2TokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in MARKUP])
    tokenizer = Qwen2TokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>", extra_special_tokens=NAMED
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def tiny_config(tokenizer: Any) -> Any:
    """Qwen2_5OmniConfig with every part enabled."""
    from transformers import Qwen2_5OmniConfig

    markers = _markers(tokenizer)
    half = HIDDEN // HEADS // 2  # the three sections share out half a head's width
    part = half * 3 // 8
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [half - 2 * part, part, part]}
    return Qwen2_5OmniConfig(
        thinker_config=_thinker(tokenizer, markers, rope),
        talker_config=_talker(tokenizer, markers),
        token2wav_config=_vocoder(),
        enable_audio_output=True,
    )


def _markers(tokenizer: Any) -> dict[str, int]:
    token_id = tokenizer.convert_tokens_to_ids
    return {
        "audio_token_index": token_id("<|AUDIO|>"),
        "image_token_index": token_id("<|IMAGE|>"),
        "video_token_index": token_id("<|VIDEO|>"),
        "audio_start_token_id": token_id("<|audio_bos|>"),
        "audio_end_token_id": token_id("<|audio_eos|>"),
        "vision_start_token_id": token_id("<|vision_bos|>"),  # positions are computed with it, images or not
        "vision_end_token_id": token_id("<|vision_eos|>"),
    }


def _thinker(tokenizer: Any, markers: dict[str, int], rope: dict[str, Any]) -> dict[str, Any]:
    return {
        **markers,
        "user_token_id": tokenizer.convert_tokens_to_ids("u"),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.convert_tokens_to_ids("<|im_start|>"),
        "eos_token_id": tokenizer.eos_token_id,
        "position_id_per_seconds": 25,
        "seconds_per_chunk": 2,
        "audio_config": {
            "d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 64,
            "num_mel_bins": 128, "max_source_positions": 1500, "n_window": 100, "output_dim": HIDDEN,
        },
        "vision_config": {
            "depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 4, "in_channels": 3,
            "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 112,
            "out_hidden_size": HIDDEN, "fullatt_block_indexes": [0],
        },
        "text_config": {
            "vocab_size": (len(tokenizer) + 63) // 64 * 64, "hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN,
            "num_hidden_layers": 2, "num_attention_heads": HEADS, "num_key_value_heads": 1,
            "max_position_embeddings": 8192, "max_window_layers": 2, "rope_parameters": rope,
            "tie_word_embeddings": False, "use_sliding_window": False,
        },
    }  # fmt: skip


def _talker(tokenizer: Any, markers: dict[str, int]) -> dict[str, Any]:
    token_id = tokenizer.convert_tokens_to_ids
    return {
        **markers,
        "tts_text_start_token_id": token_id("<tts_text_bos>"),
        "tts_text_end_token_id": token_id("<tts_text_eod>"),
        "tts_text_pad_token_id": token_id("<tts_pad>"),
        "vocab_size": 72, "tts_codec_pad_token_id": 65, "tts_codec_start_token_id": 66,
        "tts_codec_end_token_id": 67, "tts_codec_mask_token_id": 68,
        "embedding_size": HIDDEN, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "max_position_embeddings": 8192,
        "max_window_layers": 2, "spatial_merge_size": 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
    }  # fmt: skip


def _vocoder() -> dict[str, Any]:
    return {
        "dit_config": {
            "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 16, "ff_mult": 2,
            "emb_dim": 16, "block_size": 24, "look_ahead_layers": [1], "look_backward_layers": [0], "repeats": 2,
            "num_embeds": 80,  # no smaller than the talker's vocabulary: an untrained talker may emit any id
            "mel_dim": 80, "enc_emb_dim": 12, "enc_dim": 8, "enc_channels": [16, 16, 16, 16, 48],
            "enc_attention_channels": 4, "enc_se_channels": 4, "enc_res2net_scale": 2,
        },
        "bigvgan_config": {
            "mel_dim": 80, "upsample_initial_channel": 64, "resblock_kernel_sizes": [3],
            "resblock_dilation_sizes": [[1, 3, 5]], "upsample_rates": [5, 3, 2, 2, 2, 2],
            "upsample_kernel_sizes": [11, 7, 4, 4, 4, 4],
        },
    }  # fmt: skip
