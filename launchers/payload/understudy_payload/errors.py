"""Errors that end a job with a known exit code (CONTRACT.md, "Exit codes")."""

from __future__ import annotations

import json

UNFIT = 69


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


class DeviceLost(PayloadError):
    """A GPU or the links between GPUs failed: another machine may do better."""

    exit_code = UNFIT

    def __init__(self, message: str) -> None:
        super().__init__("DEVICE_LOST", message, "look at the GPUs of this machine, or go on elsewhere")


class StorageLost(PayloadError):
    """A disk or the way to it failed: another machine may do better."""

    exit_code = UNFIT

    def __init__(self, message: str) -> None:
        super().__init__("STORAGE_LOST", message, "look at the disk and its mount on this machine, or go on elsewhere")


class DiskFull(PayloadError):
    """No room or no quota is left: nothing that another try would change."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__("DISK_FULL", message, "make room on that disk or raise its quota, then resume the run")


class OutOfMemory(PayloadError):
    """A GPU or this machine had no memory left: nothing that another try would change."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__("OUT_OF_MEMORY", message, "lower microBatch or maxTokens, or the batch of an evaluation")


class Crashed(PayloadError):
    """Nobody knows more than the error's own words."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__("CRASHED", message, "the traceback is in the job's log")


class InWorker(Exception):
    """A PayloadError of a process that loads batches: torch brings over nothing but the words of what is raised there."""

    MARK = "PayloadError as JSON: "

    @classmethod
    def carrying(cls, error: PayloadError) -> InWorker:
        fields = {"code": error.code, "message": str(error), "hint": error.hint, "exit": error.exit_code}
        return cls(cls.MARK + json.dumps(fields))

    def original(self) -> PayloadError:
        fields = json.loads(str(self).rpartition(self.MARK)[2].splitlines()[0])
        error = PayloadError(fields["code"], fields["message"], fields["hint"])
        error.exit_code = fields["exit"]
        return error


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
