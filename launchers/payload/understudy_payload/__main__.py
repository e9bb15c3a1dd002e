"""python -m understudy_payload KIND --manifest job.json: one job, its errors as events and exit codes."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from .errors import UNFIT, Crashed, Fenced, InWorker, ManifestError, PayloadError, Stopped
from .events import EventLog
from .faults import fault
from .job import Job
from .manifest import KINDS, Manifest, read_manifest

LOST = ("DEVICE_LOST", "STORAGE_LOST")  # codes of failures that end with UNFIT
DISK = ("STORAGE_LOST", "DISK_FULL")  # most likely of the disk that holds the events, too


def main(arguments: list[str] | None = None) -> int:
    """Return the exit code of CONTRACT.md."""
    options = _parser().parse_args(arguments)
    # before any import of them: nothing may ask a hub, and progress bars do not belong in a log file
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    # as torchrun does: results must not depend on the number of cores, and idle threads must not spin
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if options.command == "tiny-model":
        return _tiny_model(options)
    if getattr(options, "processes", 1) > 1:
        from .launch import launch

        return launch(options.manifest, options.processes)
    return _run(options.command, options.manifest)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="understudy_payload", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for kind in KINDS:
        command = commands.add_parser(kind)
        command.add_argument("--manifest", type=Path, required=True)
        if kind == "train":
            command.add_argument("--processes", type=int, default=1, help="start this many ranks on this machine")
    tiny = commands.add_parser("tiny-model", help="write a tiny random Qwen2.5-Omni and print its revision")
    tiny.add_argument("folder", type=Path)
    tiny.add_argument("--seed", type=int, default=7)
    return parser


def _tiny_model(options: argparse.Namespace) -> int:
    from .tiny import build_tiny_model

    try:
        print(build_tiny_model(options.folder.absolute(), options.seed))
    except PayloadError as error:
        _say(f"{error.code}: {error}")
        return error.exit_code
    return 0


def _run(kind: str, path: Path) -> int:
    try:
        manifest = read_manifest(path, kind)
    except ManifestError as error:
        for problem in error.problems:
            _say(problem)
        _fail_without_manifest(path, error)
        return error.exit_code
    except PayloadError as error:
        _say(f"{error.code}: {error}")
        return error.exit_code
    code = 1
    try:
        job = Job(manifest)
        code = _ended(kind, manifest, job)
    except Fenced as fence:
        _say(f"fenced: {fence}")
        code = fence.exit_code
    except (PayloadError, OSError) as error:  # while its end was being written
        known = error if isinstance(error, PayloadError) else fault(error)
        if known is None:
            raise
        _say(f"{known.code}: {known}")
        code = known.exit_code
    finally:
        # with a device or a disk that is lost, taking leave of the other ranks may hang or abort
        if code != UNFIT and "understudy_payload.world" in sys.modules:
            sys.modules["understudy_payload.world"].leave()
    return code


def _ended(kind: str, manifest: Manifest, job: Job) -> int:
    """The exit code, its event written. Fenced when another attempt owns the run by then."""
    try:
        job.fence.check()
        # a kind's module brings torch or not: measuring needs none
        getattr(importlib.import_module(f".{kind}", __package__), kind)(manifest, job)
        return 0
    except Stopped as stop:
        job.events.write("stopped", **stop.reached, reason=stop.reason)
        return stop.exit_code
    except Fenced:
        raise
    except Exception as error:  # the boundary: whatever it is, the control plane must learn of it
        known = _known(error)
        if known is error or isinstance(error, InWorker):
            _say(f"{known.code}: {known}")
        else:
            traceback.print_exception(error)
            # ranks that lose a peer fail too, and know less than it did
            first = job.last_words.failure() if job.world_size > 1 else None
            if first is not None:
                return UNFIT if first in LOST else 1
        _last_words(job, known)
        return known.exit_code


def _known(error: Exception) -> PayloadError:
    if isinstance(error, InWorker):
        return error.original()
    return error if isinstance(error, PayloadError) else fault(error) or Crashed(f"{type(error).__name__}: {error}")


def _last_words(job: Job, error: PayloadError) -> None:
    words = {"code": error.code, "message": str(error), "hint": error.hint}
    if error.code not in DISK:
        job.last_words.write("failed", **words)
        return
    try:
        job.last_words.write_once("failed", **words)
    except OSError as again:  # most likely the same disk, which has been waited for
        _say(f"its events cannot be written either: {again}")


def _fail_without_manifest(path: Path, error: ManifestError) -> None:
    """Say it in events.jsonl all the same, when the broken manifest at least tells where that is."""
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        events, attempt = Path(value["paths"]["events"]), int(value["attempt"]["number"])
        EventLog(events, attempt).write_once("failed", code=error.code, message=str(error), hint=error.hint)
    except (OSError, ValueError, KeyError, TypeError):
        return


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _leave_process(code: int) -> NoReturn:
    """Exit. With a lost device the interpreter's clean-up may hang or abort, and the code would be another one."""
    if code == UNFIT:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    _leave_process(main())
