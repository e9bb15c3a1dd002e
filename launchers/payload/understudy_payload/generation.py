"""The thinker's text replies for a batch of prompts, with what the talker needs to speak them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from .collate import prompt_batch
from .sampling import sampler, seed_of
from .sections import Decoding


@dataclass(frozen=True)
class Prompt:
    """A turn to answer. `name` seeds its chance; `clips` are float32 at 16 kHz, one per audio span of `ids`."""

    name: str
    ids: list[int]
    clips: list[numpy.ndarray]


@dataclass(frozen=True)
class States:
    """What the thinker computed for a batch: B rows, prompts padded on the left to T, N new tokens, width H.

    `embeddings`, `hidden`: (B, T, H) of the prompt. `reply`: (B, N - 1, H), embedding plus hidden state of each new
    token but the last, which nothing was computed for. `lengths`: new tokens of each row before its end token.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    embeddings: torch.Tensor
    hidden: torch.Tensor
    reply: torch.Tensor
    generated: torch.Tensor
    lengths: list[int]


@dataclass(frozen=True)
class Replies:
    """Token ids of each row's reply without the end token, and the states behind them."""

    tokens: list[list[int]]
    states: States


class Writer:
    """Lets a thinker reply. The ways to decode are the manifest's, for every system the same."""

    def __init__(self, tokenizer: Any, extractor: Any, decoding: Decoding) -> None:
        self._extractor = extractor
        self._decoding = decoding
        self._pad = tokenizer.pad_token_id
        self._ends = sorted({*tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"]), self._pad})

    @torch.inference_mode()
    def write(self, thinker: Any, prompts: Sequence[Prompt]) -> Replies:
        """Reply to every prompt. Whatever the model raises goes through."""
        device, decoding = thinker.device, self._decoding
        clips = [clip for prompt in prompts for clip in prompt.clips]
        inputs = prompt_batch([prompt.ids for prompt in prompts], clips, self._extractor, self._pad, "left")
        inputs = {name: value.to(device) for name, value in inputs.items()}
        inputs["input_features"] = inputs["input_features"].to(thinker.dtype)
        seeds = [seed_of(decoding.seed, prompt.name, "text") for prompt in prompts]
        with _Recorder(thinker.model) as recorder:
            sequences = thinker.generate(
                **inputs,
                max_new_tokens=decoding.max_new_tokens,
                do_sample=False,
                logits_processor=sampler(seeds, device, decoding.temperature),
                eos_token_id=self._ends,
                pad_token_id=self._pad,
            )
        generated = sequences[:, inputs["input_ids"].shape[1] :]
        tokens = [self._until_end(row) for row in generated.tolist()]
        embeddings, hidden = recorder.embeddings, recorder.hidden
        reply = [first + last for first, last in zip(embeddings[1:], hidden[1:])]
        states = States(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            embeddings=embeddings[0],
            hidden=hidden[0],
            reply=torch.cat(reply, dim=1) if reply else hidden[0][:, :0],
            generated=generated,
            lengths=[len(row) for row in tokens],
        )
        return Replies(tokens, states)

    def _until_end(self, row: list[int]) -> list[int]:
        ends = [position for position, token in enumerate(row) if token in self._ends]
        return row[: ends[0]] if ends else row


class _Recorder:
    """Keeps the first and last hidden states of each step. `output_hidden_states` would keep those of all 28 layers."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.embeddings: list[torch.Tensor] = []
        self.hidden: list[torch.Tensor] = []

    def __enter__(self) -> _Recorder:
        self._hook = self._model.register_forward_hook(self._keep, with_kwargs=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()

    def _keep(self, module: Any, arguments: Any, keywords: dict[str, Any], output: Any) -> None:
        self.embeddings.append(keywords["inputs_embeds"])
        self.hidden.append(output[0])
