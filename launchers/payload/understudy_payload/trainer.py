"""transformers.Trainer with an exact loss, an exact evaluation and checkpoints that say when they are complete."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from . import world
from .errors import Fenced
from .events import EventLog
from .files import discard
from .likelihood import LabelLikelihood
from .marker import MARKER, write_marker
from .room import room_left
from .stopping import Fence


class FenceWatch(TrainerCallback):
    """Ends training on all ranks at a step boundary, soon after another attempt took the run over."""

    def __init__(self, fence: Fence) -> None:
        self._fence = fence

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if world.agree_on_any(state.is_world_process_zero and self._fence.poll(), args.device):
            raise Fenced(f"another attempt owns this run; step {state.global_step} was the last")


class OmniTrainer(Trainer):
    """`extras` are model-folder files that save_pretrained leaves out; they are copied into each checkpoint."""

    def __init__(self, *, events: EventLog, fence: Fence, kind: str, extras: list[Path], **options: Any) -> None:
        super().__init__(**options)
        # makes Trainer count label tokens over micro-batches and ranks and leave the division to compute_loss
        self.model_accepts_loss_kwargs = True
        self._likelihood = LabelLikelihood(self.model)
        self._events = events
        self._fence = fence
        self._kind = kind
        self._extras = extras
        self._eval_loss: tuple[int, float] | None = None  # (step, nats per label token)
        self.add_callback(FenceWatch(fence))

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Sum over label tokens / label tokens of the whole optimizer step. DDP averages gradients, hence × ranks."""
        return self._likelihood.losses(model, inputs).sum() * self.args.world_size / num_items_in_batch

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Mean NLL over all label tokens of the dev split. Each rank takes every n-th dialogue, none twice."""
        mine = range(self.args.process_index, len(self.eval_dataset), self.args.world_size)
        loader = torch.utils.data.DataLoader(
            torch.utils.data.Subset(self.eval_dataset, mine),
            batch_size=self.args.per_device_eval_batch_size,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            generator=torch.Generator(),  # the default one would advance the state that training depends on
        )
        nats, tokens = 0.0, 0
        model = self.accelerator.unwrap_model(self.model_wrapped, keep_fp32_wrapper=True)
        model.eval()
        for batch in loader:
            # ranks have different numbers of batches, so they cannot agree here: the others end as after a crash
            if self.is_world_process_zero() and self._fence.poll():
                raise Fenced(f"another attempt owns this run; evaluation of step {self.state.global_step} was cut off")
            # the loader stays outside: mel features must not be computed in bf16
            with torch.no_grad(), torch.autocast(self.args.device.type, torch.bfloat16, enabled=self.args.bf16):
                losses = self._likelihood.losses(model, self._prepare_inputs(batch))
            nats += losses.double().sum().item()
            tokens += len(losses)
        nats, tokens = world.total([nats, tokens], self.args.device)
        self._stay_owner(f"the evaluation at step {self.state.global_step} is not reported")
        metrics = {"eval_loss": nats / tokens, "eval_tokens": int(tokens)}
        self.log(metrics)
        self._eval_loss = (self.state.global_step, metrics["eval_loss"])
        self._events.write(
            "eval", step=self.state.global_step, split="dev", loss=metrics["eval_loss"], tokens=int(tokens)
        )
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def floating_point_ops(self, inputs: dict[str, Any]) -> int:
        """Trainer's estimate knows nothing of audio; a wrong number in every checkpoint is worse than none."""
        return 0

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        step = self.state.global_step
        folder = Path(self.args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{step}"
        self._stay_owner(f"step {step} is not saved")
        if self.is_world_process_zero():
            discard(folder, MARKER)  # what a killed attempt left half-written, or what was skipped because it changed
        world.barrier()
        with room_left(folder, self._fence):
            super()._save_checkpoint(model, trial)
            if self.is_world_process_zero():
                for path in self._extras:
                    shutil.copy2(path, folder / path.name)
        world.barrier()  # other ranks write their own random states

        # The save and the digests took minutes. A successor at this step writes into the same folder, and a marker now
        # would vouch for a mixture.
        def check() -> None:
            self._stay_owner(f"the checkpoint of step {step} is not completed")

        if self.is_world_process_zero():
            with room_left(folder, self._fence):
                write_marker(folder, self._facts(), check)
            self._events.write("checkpoint", step=step, checkpoint=folder.name)
        else:
            check()

    def _stay_owner(self, consequence: str) -> None:
        """Fenced on all ranks when another attempt owns the run. All ranks must call it."""
        if world.agree_on_any(self.is_world_process_zero() and self._fence.broken(), self.args.device):
            raise Fenced(f"another attempt owns this run; {consequence}")

    def _facts(self) -> dict[str, Any]:
        losses = [row["loss"] for row in self.state.log_history if "loss" in row]
        evaluated = self._eval_loss is not None and self._eval_loss[0] == self.state.global_step
        return {
            "step": self.state.global_step,
            "epoch": self.state.epoch,
            "kind": self._kind,
            "worldSize": self.args.world_size,
            "trainLoss": losses[-1] if losses else None,
            "evalLoss": self._eval_loss[1] if evaluated else None,
        }
