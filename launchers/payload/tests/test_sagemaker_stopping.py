"""A SageMaker container that is asked to stop: TERM comes 120 seconds before it is killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.opt_ml import OptMl, wait_for


@pytest.fixture
def opt_ml(tmp_path: Path) -> OptMl:
    return OptMl(tmp_path)


def test_sigterm_asks_to_save_and_the_deaf_are_killed(opt_ml: OptMl) -> None:
    opt_ml.template([["deaf", 0], ["until-stop", 0], ["save", "checkpoint-5"], ["exit", 3]])
    process = opt_ml.start()
    wait_for(opt_ml.run / "attempts/1/log.txt")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 3
    assert (opt_ml.run / "output/checkpoint-5/_COMPLETE.json").exists()


def test_who_does_not_stop_is_killed_in_time_for_the_result(opt_ml: OptMl) -> None:
    opt_ml.template([["deaf", 0], ["say", "up\n"], ["until-stop", 0], ["worker", 0], ["die", signal.SIGSTOP]])
    process = opt_ml.start()
    wait_for(opt_ml.run / "attempts/1/log.txt")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 137
    assert opt_ml.result()["signal"] == "SIGKILL"
