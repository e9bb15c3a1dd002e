from __future__ import annotations

import json

import pytest

from understudy_payload.readable import readable


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("A\x00r\x07r\x1b!", "Arr!"),
        ("one\ttwo\nthree\r\n", "one\ttwo\nthree"),
        ("half \ud83d a pair", "half  a pair"),
        ("\x00 \x1f", ""),
        ("阿弥陀佛 \ufffd é 🦜", "阿弥陀佛 \ufffd é 🦜"),
    ],
)
def test_controls_and_lone_surrogates_go(said: str, kept: str) -> None:
    assert readable(said) == kept
    assert json.loads(json.dumps(readable(said), ensure_ascii=False).encode()) == kept
