"""The talker: from the thinker's states to codec ids.

The same steps as transformers' `Qwen2_5OmniForConditionalGeneration.generate`, taken apart so that text survives when
speech fails, rows without text are left out, and each turn has its own chance. Decoding constants are that method's
defaults: the voice is frozen, and a talker that decodes greedily gets stuck.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .generation import States
from .sampling import sampler

TEMPERATURE = 0.9
TOP_K = 40
TOP_P = 0.8
REPETITION_PENALTY = 1.05
FEWEST_STEPS = 2  # the talker starts from the first new token's state, which is computed at the second step


@torch.inference_mode()
def codec_ids(
    omni: Any, voice: dict[str, Any], states: States, rows: Sequence[int], seeds: Sequence[int], most: int
) -> list[torch.Tensor]:
    """Codec ids of `rows`, shape (codes,) each, at most `most`; possibly none. Rows must have text.

    `voice`: an entry of `spk_dict.pt`. ValueError when the thinker ended after its first token.
    """
    if states.generated.shape[1] < FEWEST_STEPS:
        raise ValueError("one new token is too few to be spoken")
    talker, device = omni.talker, states.input_ids.device
    inputs = _inputs(omni, int(voice["bos_token"]), states, torch.tensor(list(rows), device=device))
    ends = [talker.codec_pad_token, talker.codec_eos_token]
    codebook = omni.token2wav.code2wav_dit_model.config.num_embeds
    # the vocabulary is wider than the vocoder's codebook, and an id beyond it crashes the vocoder
    beyond = [token for token in range(codebook, talker.codebook_size) if token not in ends]
    result = talker.generate(
        **inputs,
        max_new_tokens=most,
        do_sample=False,
        logits_processor=sampler(seeds, device, TEMPERATURE, TOP_K, TOP_P),
        repetition_penalty=REPETITION_PENALTY,
        suppress_tokens=sorted({talker.codec_bos_token, *beyond}),
        eos_token_id=ends,
        pad_token_id=talker.codec_pad_token,
    )
    codes = result[:, inputs["input_ids"].shape[1] :]
    lengths = [next((at for at, code in enumerate(row) if code in ends), len(row)) for row in codes.tolist()]
    return [row[:length] for row, length in zip(codes, lengths)]


def _inputs(omni: Any, text_start: int, states: States, rows: torch.Tensor) -> dict[str, torch.Tensor]:
    """The talker reads the prompt as embedding plus hidden state (of audio the hidden state alone), then the reply."""
    talker, embed = omni.talker, omni.thinker.get_input_embeddings()
    ids, mask = states.input_ids[rows], states.attention_mask[rows]

    def column(token: int) -> torch.Tensor:
        return torch.full((len(rows), 1), token, dtype=torch.long, device=ids.device)

    audio = (ids == omni.config.thinker_config.audio_token_index).unsqueeze(-1)
    prompt = states.hidden[rows] + states.embeddings[rows].masked_fill(audio, 0)
    reply = states.reply[rows]
    codec = [torch.full_like(ids, talker.codec_mask_token), column(talker.codec_pad_token), column(talker.codec_bos_token)]
    return {
        "input_ids": torch.cat(codec, dim=1),
        "input_text_ids": torch.cat([ids, column(text_start), states.generated[rows, :1]], dim=1),
        "inputs_embeds": torch.cat([prompt, embed(column(text_start)), reply[:, :1]], dim=1),
        "thinker_reply_part": _reply_stream(
            reply, [states.lengths[row] for row in rows.tolist()], embed(column(talker.text_eos_token)),
            embed(column(talker.text_pad_token)),
        ),
        "attention_mask": torch.cat([mask, mask.new_ones((len(rows), 2))], dim=1),
    }  # fmt: skip


def _reply_stream(
    reply: torch.Tensor, lengths: Sequence[int], end: torch.Tensor, padding: torch.Tensor
) -> torch.Tensor:
    """(rows, N, H): states from the second token on, then the end of text, then padding, row by row.

    A row that ended early went on with pad tokens; their states mean nothing and are overwritten.
    """
    stream = torch.cat([reply[:, 1:], end, padding], dim=1)
    position = torch.arange(stream.shape[1], device=stream.device)[None, :, None]
    last = torch.tensor(lengths, device=stream.device).clamp(1, reply.shape[1])[:, None, None] - 1
    stream = torch.where(position >= last, padding, stream)
    return torch.where(position == last, end, stream)
