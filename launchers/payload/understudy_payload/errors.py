"""Errors that end a job with a known exit code (CONTRACT.md, "Exit codes")."""

from __future__ import annotations


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
