"""What happens between optimizer steps: `step` events, requests to stop, and the last step's evaluation and save."""

from __future__ import annotations

import time
from typing import Any

from transformers import TrainerCallback

from . import world
from .events import EventLog
from .stopping import StopRequest


class Boundary(TrainerCallback):
    """`stopped` is the reason of a stop that all ranks agreed on, or None."""

    def __init__(self, events: EventLog, request: StopRequest) -> None:
        self._events = events
        self._request = request
        self._seconds, self._steps, self._began = 0.0, 0, 0.0
        self.stopped: str | None = None

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._began = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        self._seconds += time.monotonic() - self._began
        self._steps += 1
        last = state.global_step >= state.max_steps
        if last:
            control.should_evaluate = True
        self._agree(args, state)
        if last or self.stopped:
            control.should_save = True
            control.should_training_stop = True
        if control.should_save or control.should_evaluate:
            control.should_log = True  # so that a checkpoint's training loss is that of its own step
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """A request that came meanwhile costs no further step: this one is saved."""
        self._agree(args, state)
        if self.stopped:
            control.should_save = control.should_training_stop = True
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Nor does one that came during a save."""
        self._agree(args, state)
        if self.stopped:
            control.should_training_stop = True
        return control

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        if "loss" not in logs:
            return
        self._events.write(
            "step",
            step=state.global_step,
            epoch=state.epoch,
            loss=logs["loss"],
            learningRate=logs["learning_rate"],
            gradNorm=logs.get("grad_norm"),
            secondsPerStep=self._seconds / max(self._steps, 1),
        )
        self._seconds, self._steps = 0.0, 0

    def _agree(self, args: Any, state: Any) -> None:
        # the last step is evaluated and saved whatever is asked: then the job is done
        if self.stopped is None and state.global_step < state.max_steps:
            self.stopped = world.agree_on_stop(self._request.reason(), args.device)
