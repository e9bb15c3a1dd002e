"""The lock files: what is tested is what runs, and nothing in them names a place to download from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.lock", "requirements-cuda.lock", "requirements-test.lock")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def pins(lock: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version in PIN.findall((ROOT / lock).read_text(encoding="utf-8")):
        found.setdefault(name.lower(), set()).add(version)
    return found


@pytest.mark.parametrize("source", ["requirements.in", "requirements-test.in"])
def test_whatever_is_wanted_is_locked(source: str) -> None:
    lines = (line.split("#")[0].strip() for line in (ROOT / source).read_text(encoding="utf-8").splitlines())
    wanted = {re.split(r"[=<>]", line)[0].lower() for line in lines if line}
    assert wanted and wanted <= pins(source.replace(".in", ".lock")).keys()


def test_tests_run_the_versions_that_training_runs() -> None:
    runtime, tests = pins("requirements.lock"), pins("requirements-test.lock")
    assert {name: tests[name] for name in runtime.keys() & tests.keys() if tests[name] != runtime[name]} == {}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_or_a_digest(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text and all(len(versions) == 1 for versions in pins(lock).values())
    line = re.compile(r"[A-Za-z0-9._-]+==\S+( ; [^\\]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    assert [each for each in text.splitlines() if not line.fullmatch(each)] == []
