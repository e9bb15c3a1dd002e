"""What a model was asked."""

from __future__ import annotations

from typing import Any

import pytest

from understudy_payload.generation import Prompt, Replies, Writer


class Spy:
    """Keeps every prompt that was written to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.prompts: dict[str, Prompt] = {}
        self.batches: list[list[str]] = []
        write = Writer.write

        def spy(writer: Writer, thinker: Any, prompts: list[Prompt]) -> Replies:
            self.prompts |= {prompt.name: prompt for prompt in prompts}
            self.batches.append([prompt.name for prompt in prompts])
            return write(writer, thinker, prompts)

        monkeypatch.setattr(Writer, "write", spy)
