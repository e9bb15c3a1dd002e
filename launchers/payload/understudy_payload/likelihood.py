"""Negative log-likelihood of label tokens, with logits computed only where a label follows.

Over the whole sequence they would dominate memory: 152,064 entries a token, and most tokens are prompt or audio.
"""

from __future__ import annotations

from typing import Any

import torch

from .conversation import IGNORED


class LabelLikelihood:
    """Attaches to a thinker once; afterwards its output layer sees label positions only while `losses` runs."""

    def __init__(self, thinker: Any) -> None:
        self._keep: torch.Tensor | None = None
        head = thinker.get_output_embeddings()
        head.register_forward_pre_hook(self._select)

    def losses(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """NLL in nats of every label token: float32, shape (label tokens,), row by row in order of position.

        `model` is the thinker or whatever wraps it (PEFT, DDP, DeepSpeed); `inputs` holds `labels`.
        """
        labels = inputs["labels"]
        targets = labels[:, 1:]  # the token at position i is predicted at i - 1
        keep = torch.zeros_like(labels, dtype=torch.bool)
        keep[:, :-1] = targets != IGNORED
        self._keep = keep
        try:
            rest = {name: value for name, value in inputs.items() if name != "labels"}
            logits = model(**rest, use_cache=False).logits
        finally:
            self._keep = None
        wanted = targets[targets != IGNORED]
        return torch.nn.functional.cross_entropy(logits.float(), wanted, reduction="none")

    def _select(self, module: Any, arguments: tuple[torch.Tensor]) -> tuple[torch.Tensor] | None:
        return None if self._keep is None else (arguments[0][self._keep],)
