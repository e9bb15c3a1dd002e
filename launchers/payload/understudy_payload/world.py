"""What ranks agree on. Without torchrun everything here is the identity."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as distributed

REASONS = (None, "stop-file", "signal")


def world_size() -> int:
    """Number of processes that torchrun started; known before the process group exists."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    return int(os.environ.get("RANK", "0"))


def barrier() -> None:
    if distributed.is_initialized():
        distributed.barrier()


def agree_on_stop(reason: str | None, device: torch.device) -> str | None:
    """The reason that any rank has, on every rank: a signal may reach only one of them."""
    return REASONS[int(_reduce(float(REASONS.index(reason)), device, distributed.ReduceOp.MAX))]


def agree_on_any(flag: bool, device: torch.device) -> bool:
    return bool(_reduce(float(flag), device, distributed.ReduceOp.MAX))


def total(values: list[float], device: torch.device) -> list[float]:
    """Sums over ranks, in fp64 so that token counts stay exact."""
    tensor = torch.tensor(values, dtype=torch.float64, device=device)
    if distributed.is_initialized():
        distributed.all_reduce(tensor)
    return tensor.tolist()


def share(value: Any, device: torch.device) -> Any:
    """What rank 0 has, on every rank."""
    box = [value]
    if distributed.is_initialized():
        distributed.broadcast_object_list(box, src=0, device=device)
    return box[0]


def leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _reduce(value: float, device: torch.device, operation: distributed.ReduceOp) -> float:
    if not distributed.is_initialized():
        return value
    tensor = torch.tensor([value], device=device)
    distributed.all_reduce(tensor, operation)
    return tensor.item()
