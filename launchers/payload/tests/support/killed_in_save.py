"""`python -m support.killed_in_save train --manifest job.json`: a job that dies by SIGKILL at one point of a save.

KILL_AT of the environment is STEP:POINT.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy_payload import files, marker, trainer
from understudy_payload.__main__ import main
from understudy_payload.events import EventLog
from understudy_payload.trainer import OmniTrainer

step, _, point = os.environ["KILL_AT"].partition(":")


def before(owner: Any, name: str, wanted: Callable[..., bool]) -> None:
    real = getattr(owner, name)

    def acting(*arguments: Any, **options: Any) -> Any:
        if wanted(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)

    setattr(owner, name, acting)


def at(self: OmniTrainer, *_: Any) -> bool:
    return self.state.global_step == int(step)


def of_marker(source: Any, target: Any) -> bool:
    return Path(target).name == marker.MARKER and Path(target).parent.name == f"checkpoint-{step}"


def of_checkpoint(folder: Path, *_: Any) -> bool:
    return folder.name == f"checkpoint-{step}"


if point == "weights-written":  # the optimizer's state is not
    before(OmniTrainer, "_save_optimizer_and_scheduler", at)
elif point == "all-written":
    before(trainer, "write_marker", of_checkpoint)
elif point == "marker-staged":
    before(files.os, "replace", of_marker)
elif point == "marker-written":  # and its event is not
    before(EventLog, "write", lambda self, kind, **_: kind == "checkpoint" and Path(
        os.environ["OUTPUT"], f"checkpoint-{step}", marker.MARKER).exists())
elif point == "between":  # the event is written, the next step is not begun
    before(trainer.OmniTrainer, "_save_checkpoint", lambda self, *_: self.state.global_step > int(step))
else:
    raise SystemExit(f"unknown point {point}")
sys.exit(main())
