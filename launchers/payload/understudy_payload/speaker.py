"""A system that hears, writes and speaks: one loaded model whose thinker is exchanged between systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from transformers import GenerationConfig

from .errors import CheckpointError
from .faults import fault
from .generation import Prompt, Replies, Writer
from .manifest import InferManifest
from .modeling import dtype_of, load_extractor, load_omni, load_system, load_tokenizer, pick_device
from .sampling import seed_of
from .sections import System
from .talker import codec_ids
from .vocoder import SpeechError, samples_of

# Parameters below which threads wait for each other longer than they work (fifty times longer on a busy machine).
SMALL = 50_000_000
# What a system may do wrong: it costs the turn. Anything else (TypeError, AttributeError, KeyError, ...) is a bug of
# this code, perhaps after an upgrade, and as rows it would look like a bad system: it ends the job.
MODEL_ERRORS = (RuntimeError, ValueError)


@dataclass(frozen=True)
class Speech:
    """int16 samples at 24 kHz, or why there are none."""

    samples: numpy.ndarray | None
    failure: dict[str, str] | None


class Speaker:
    """bf16 on a GPU, fp32 on a CPU, the vocoder always fp32."""

    def __init__(self, manifest: InferManifest) -> None:
        self.device = pick_device(manifest.device)
        self.tokenizer = load_tokenizer(manifest.model.path)
        self._decoding = manifest.decoding
        self._path = manifest.model.path
        self._dtype = dtype_of("bf16" if self.device.type == "cuda" else "fp32")
        self._writer = Writer(self.tokenizer, load_extractor(manifest.model.path), manifest.decoding)
        self._omni: Any = None
        self._checkpoint: Path | None = None
        self._voice: dict[str, Any] = {}

    def become(self, system: System) -> None:
        """Take a system's thinker and voice. Talker and vocoder are read once; a thinker that was in use leaves no trace."""
        if self._omni is None:
            self._omni = load_omni(self._path, self._dtype).to(self.device)
            self._omni.talker.generation_config = GenerationConfig()
            if self.device.type == "cpu" and sum(each.numel() for each in self._omni.parameters()) < SMALL:
                torch.set_num_threads(1)
        if system.checkpoint != self._checkpoint:
            self._omni.thinker = None  # frees the weights before others are read
            self._omni.thinker = load_system(self._path, system.checkpoint, self._dtype).to(self.device)
            self._checkpoint = system.checkpoint
        # sampling settings that a checkpoint carries must not make systems differ
        self._omni.thinker.generation_config = GenerationConfig()
        if system.speaker not in self._omni.speaker_map:
            known = ", ".join(sorted(self._omni.speaker_map))
            raise CheckpointError("VOICE_UNKNOWN", f"{self._path} has no voice {system.speaker}", f"voices: {known}")
        self._voice = self._omni.speaker_map[system.speaker]

    def write(self, prompts: Sequence[Prompt]) -> Replies:
        """Text replies of a batch."""
        return self._writer.write(self._omni.thinker, prompts)

    def speak(self, replies: Replies, names: Sequence[str], rows: Sequence[int]) -> list[Speech]:
        """Audio of these rows of a batch, in their order. What fails becomes a failure of its row alone.

        `names` seeds the chance of each row of the batch.
        """
        if not rows:
            return []
        try:
            seeds = [seed_of(self._decoding.seed, names[row], "codes") for row in rows]
            most = self._decoding.talker_max_new_tokens
            codes = codec_ids(self._omni, self._voice, replies.states, rows, seeds, most)
        except MODEL_ERRORS as error:
            if fatal(error):
                raise
            if len(rows) == 1:
                return [_failed("SPEECH_FAILED", error)]
            # one row may have spoiled the batch
            return [speech for row in rows for speech in self.speak(replies, names, [row])]
        return [self._sound(each, names[row]) for each, row in zip(codes, rows)]

    def _sound(self, codes: torch.Tensor, name: str) -> Speech:
        try:
            seed = seed_of(self._decoding.seed, name, "sound")
            return Speech(samples_of(self._omni, self._voice, codes, seed, self._decoding.token2wav_steps), None)
        except SpeechError as error:
            return _failed(error.code, error)
        except MODEL_ERRORS as error:
            if fatal(error):
                raise
            return _failed("SPEECH_FAILED", error)


def fatal(error: Exception) -> bool:
    """True for model errors that are not the system's fault: they must end the job, not lower a score.

    Libraries raise a plain RuntimeError when the device or the memory fails; the other two are RuntimeErrors by name only.
    """
    if isinstance(error, (NotImplementedError, RecursionError)) or fault(error):
        return True
    return type(error).__name__ == "AcceleratorError" or str(error).startswith(("CUDA error", "cuDNN error"))


def _failed(code: str, error: Exception) -> Speech:
    message = str(error) if isinstance(error, SpeechError) else f"{type(error).__name__}: {error}"
    return Speech(None, {"code": code, "message": message})
