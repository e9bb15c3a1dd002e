"""Errors that end a job with a known exit code (CONTRACT.md, "Exit codes")."""

from __future__ import annotations

import re

UNFIT = 69
# What CUDA and NCCL say of a program's own fault, which it would commit on any machine. Every CUDA error names
# "device-side assertions" in its advice, one that was triggered is a "device-side assert".
DEVICE_ERROR = re.compile(r"CUDA error|NCCL|\bECC\b")
OWN_FAULT = re.compile(
    r"device-side assert\b|invalid (configuration )?argument|STATUS_(INVALID_VALUE|NOT_SUPPORTED)|invalid usage",
    re.IGNORECASE,
)
OUT_OF_MEMORY = re.compile(r"out of memory|ALLOC_FAILED|Failed to CUDA (m|c)alloc", re.IGNORECASE)


class PayloadError(Exception):
    """The manifest or the data is wrong: exit code 2 and a `failed` event.

    `code` is stable for programs, the message is a sentence, `hint` says what to do.
    """

    exit_code = 2

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


class ManifestError(PayloadError):
    """The manifest does not fit the contract. `problems` lists every misfit as `place: what is wrong`."""

    def __init__(self, problems: list[str]) -> None:
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__("MANIFEST_INVALID", f"{count} in the manifest: " + "; ".join(problems), "see CONTRACT.md")
        self.problems = problems


class DataError(PayloadError):
    """A shard or a dialogue cannot be used."""


class CheckpointError(PayloadError):
    """A checkpoint or model folder cannot be used."""


class StorageLost(PayloadError):
    """A disk has failed for so long that this machine counts as unfit."""

    exit_code = UNFIT

    def __init__(self, message: str) -> None:
        super().__init__("STORAGE_LOST", message, "look at the disk and its mount on this machine, or go on elsewhere")


class Stopped(Exception):
    """The job was asked to stop and has saved what it had. `reason` is `stop-file` or `signal`.

    `reached` goes into the event: `step` of a training run, `done` and `total` of a task.
    """

    exit_code = 3

    def __init__(self, reason: str, **reached: int) -> None:
        super().__init__(f"stopped at {reached}: {reason}")
        self.reason = reason
        self.reached = reached


class Fenced(Exception):
    """Another attempt owns this run: write nothing more, not even an event."""

    exit_code = 75


def out_of_memory(error: BaseException) -> bool:
    """True when a GPU had no memory left, whichever library says so."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return _is_from_device(error) and OUT_OF_MEMORY.search(str(error)) is not None


def device_lost(error: BaseException) -> bool:
    """True when a GPU or the links between GPUs failed, and another machine may do better."""
    return _is_from_device(error) and not out_of_memory(error) and OWN_FAULT.search(str(error)) is None


def _is_from_device(error: BaseException) -> bool:
    # torch's AcceleratorError and DistBackendError are RuntimeErrors; older versions raise that itself
    return isinstance(error, RuntimeError) and DEVICE_ERROR.search(str(error)) is not None
