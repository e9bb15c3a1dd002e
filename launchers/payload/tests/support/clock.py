"""Time that passes only where somebody waits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from understudy_payload import stopping


class Clock:
    """Stands still but while somebody sleeps. `meanwhile` is called with the time after each sleep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.meanwhile: Callable[[float], object] = lambda _: None
        monkeypatch.setattr(stopping, "clock", lambda: self.now)
        monkeypatch.setattr(stopping, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile(self.now)
