"""What the trainer measures, as lines that a person reads in log.txt. Programs read events.jsonl."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback


class LogLines(TrainerCallback):
    """Instead of PrinterCallback, which prints dicts of Python."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        if state.is_local_process_zero:
            print(line(state.global_step, state.max_steps, logs), flush=True)


def line(step: int, steps: int, logs: dict[str, Any]) -> str:
    """`step 10/40  loss 1.2300  lr 1.00e-04  grad 0.98  epoch 0.25`; what is not known by name comes as it is called."""
    words = [WORDS[name].format(float(logs[name])) for name in WORDS if name in logs]
    words += [f"{name} {value}" for name, value in logs.items() if name not in WORDS and name not in SILENT]
    return "  ".join([f"step {step}/{steps}", *words])


WORDS = {
    "loss": "loss {:.4f}",
    "eval_loss": "dev loss {:.4f}",
    "eval_tokens": "of {:.0f} tokens",
    "learning_rate": "lr {:.2e}",
    "grad_norm": "grad {:.3g}",
    "train_loss": "mean loss {:.4f}",
    "train_runtime": "trained for {:.1f} s",
    "train_samples_per_second": "{:.3g} dialogues/s",
    "train_steps_per_second": "{:.3g} steps/s",
    "epoch": "epoch {:.2f}",
}
SILENT = frozenset({"total_flos"})  # an estimate that knows nothing of audio
