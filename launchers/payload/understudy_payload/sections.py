"""The parts of a job manifest. Keys and meanings are those of CONTRACT.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .errors import ManifestError
from .schema import at_least, between


@dataclass(frozen=True)
class Attempt:
    number: int = at_least(0)
    token: str


@dataclass(frozen=True)
class Paths:
    output: Path
    events: Path
    stop: Path
    fence: Path


@dataclass(frozen=True)
class Model:
    path: Path
    revision: str


@dataclass(frozen=True)
class Prompt:
    preamble: str


@dataclass(frozen=True)
class Data:
    train: tuple[Path, ...]
    dev: tuple[Path, ...]

    def problems(self) -> Iterator[str]:
        for name in ("train", "dev"):
            if not getattr(self, name):
                yield f"{name}: at least one shard is needed"


@dataclass(frozen=True)
class Lora:
    rank: int = at_least(1)
    alpha: float = at_least(0)
    dropout: float = between(0, 1)


@dataclass(frozen=True)
class Training:
    """Lengths in optimizer steps, batches in dialogues, `max_tokens` in tokens."""

    mode: Literal["lora", "full"]
    precision: Literal["bf16", "fp32"]
    learning_rate: float = at_least(0)
    weight_decay: float = at_least(0)
    max_grad_norm: float = at_least(0)
    schedule: Literal["cosine", "linear", "constant"]
    warmup_fraction: float = between(0, 1)
    steps: int = at_least(1)
    global_batch: int = at_least(1)
    micro_batch: int = at_least(1)
    eval_every_steps: int = at_least(1)
    save_every_steps: int = at_least(1)
    log_every_steps: int = at_least(1)
    max_tokens: int = at_least(1)
    gradient_checkpointing: bool
    lora: Lora | None
    zero: Literal[0, 2]
    data_loader_workers: int = at_least(0)
    seed: int = at_least(0)

    def problems(self) -> Iterator[str]:
        if self.mode == "lora" and self.lora is None:
            yield "lora: mode is lora, so rank, alpha and dropout are needed"
        if self.mode == "full" and self.lora is not None:
            yield "lora: mode is full, so this must be null"
        if self.mode == "lora" and self.zero:
            yield "zero: stage 2 is for mode full"
        if self.global_batch % self.micro_batch:
            yield f"globalBatch: {self.global_batch} is not a multiple of microBatch {self.micro_batch}"

    def accumulation(self, world_size: int) -> int:
        """Micro-batches per optimizer step on each rank."""
        parts, rest = divmod(self.global_batch, self.micro_batch * world_size)
        if rest or not parts:
            raise ManifestError([
                f"training.globalBatch: {self.global_batch} is not a multiple of "
                f"microBatch {self.micro_batch} × {world_size} processes"
            ])
        return parts


@dataclass(frozen=True)
class System:
    """One thing to evaluate. `checkpoint` None means the base model."""

    id: str
    checkpoint: Path | None
    speaker: Literal["Chelsie", "Ethan"]


@dataclass(frozen=True)
class Suite:
    id: str
    shards: tuple[Path, ...]
    roles: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    system: System
    suite: Suite
    output: Path


@dataclass(frozen=True)
class MeasureTask(Task):
    answers: Path


@dataclass(frozen=True)
class Decoding:
    max_new_tokens: int = at_least(1)
    talker_max_new_tokens: int = at_least(1)
    temperature: float = at_least(0)
    seed: int = at_least(0)
    batch: int = at_least(1)
    token2wav_steps: int = at_least(2, default=10)


@dataclass(frozen=True)
class Scoring:
    batch: int = at_least(1)
    precision: Literal["bf16", "fp32"]
