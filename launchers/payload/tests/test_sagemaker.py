"""The SageMaker adapter as the service runs it: a process of its own on an /opt/ml folder, without AWS."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from support.opt_ml import OptMl, wait_for


@pytest.fixture
def opt_ml(tmp_path: Path) -> OptMl:
    return OptMl(tmp_path)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 75])
def test_the_exit_code_is_the_programs_own(opt_ml: OptMl, code: int) -> None:
    opt_ml.template([["exit", code]])
    assert opt_ml.execute()[0] == code
    result = opt_ml.result()
    assert (result["exitCode"], result["signal"], result["reason"]) == (code, None, "exited")
    assert result["marker"] == "us-r1-a1"
    assert (opt_ml.root / "output/failure").exists() == (code != 0)


def test_a_death_by_signal_is_told_as_one(opt_ml: OptMl) -> None:
    opt_ml.template([["die", signal.SIGSEGV]])
    assert opt_ml.execute()[0] == 139
    assert opt_ml.result()["signal"] == "SIGSEGV"
    assert opt_ml.result()["reason"] == "signalled"


def test_the_log_is_printed_and_kept_and_ends_with_its_line(opt_ml: OptMl) -> None:
    # a worker that outlives the program does not hold up the end
    opt_ml.template([["say", "one\n"], ["worker", 0], ["say", "torn"]])
    began = time.monotonic()
    assert opt_ml.execute() == (0, "one\ntorn\n")
    assert time.monotonic() - began < 25
    assert (opt_ml.run / "attempts/1/log.txt").read_text() == "one\ntorn\n"


def test_the_manifest_has_this_attempt_and_its_paths(opt_ml: OptMl) -> None:
    opt_ml.template([["arguments", 0]], processes=4)
    arguments = json.loads(opt_ml.execute()[1])
    manifest = opt_ml.json("attempts/1/job.json")
    assert arguments == ["train", "--manifest", str(opt_ml.run / "attempts/1/job.json"), "--processes", "4"]
    assert manifest["attempt"] == {"number": 1, "token": "T"}
    assert manifest["paths"]["output"] == str(opt_ml.run / "output")
    assert manifest["paths"]["events"] == str(opt_ml.run / "events.jsonl")
    # not in the folder that is copied to the bucket: an old container would overwrite the fence of a newer one
    assert not manifest["paths"]["fence"].startswith(str(opt_ml.run))
    assert manifest["data"]["train"] == [str(opt_ml.root / "input/data/data/a.parquet")]


def test_a_spot_restart_is_the_next_attempt(opt_ml: OptMl) -> None:
    opt_ml.template([["until-stop", 0], ["exit", 3]])
    process = opt_ml.start()
    wait_for(opt_ml.run / "attempts/1/log.txt")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 3
    opt_ml.template([["exit", 0]])
    assert opt_ml.execute()[0] == 0
    assert opt_ml.result(1)["exitCode"] == 3
    assert opt_ml.result(2)["marker"] == "us-r1-a2"
    assert opt_ml.json("attempts/2/job.json")["attempt"] == {"number": 2, "token": "T.2"}
    assert opt_ml.json("attempts/2/supervisor.json")["job"] == "us-r1-a1"
    # the stop of an earlier attempt must not end this one
    assert opt_ml.json("attempts/2/job.json")["paths"]["stop"] != opt_ml.json("attempts/1/job.json")["paths"]["stop"]


def test_a_killed_container_leaves_an_attempt_without_result(opt_ml: OptMl) -> None:
    opt_ml.template([["until-stop", 0]])
    process = opt_ml.start()
    wait_for(opt_ml.run / "attempts/1/log.txt")
    process.kill()
    process.wait()
    (opt_ml.run / "attempts/1/STOP").touch()
    opt_ml.template([["exit", 0]])
    assert opt_ml.execute()[0] == 0
    assert not (opt_ml.run / "attempts/1/result.json").exists()
    assert opt_ml.result(2)["exitCode"] == 0


def test_a_restart_after_a_good_end_does_nothing(opt_ml: OptMl) -> None:
    opt_ml.template([["exit", 0]])
    opt_ml.execute()
    opt_ml.template([["say", "again"]])
    assert opt_ml.execute() == (0, "")
    assert not (opt_ml.run / "attempts/2").exists()


def test_a_later_job_of_the_run_begins_its_own_number(opt_ml: OptMl) -> None:
    opt_ml.template([["exit", 1]])
    opt_ml.execute()
    opt_ml.template([["exit", 0]], job="us-r1-a2", attempt={"number": 2, "token": "U"})
    assert opt_ml.execute()[0] == 0
    assert opt_ml.json("attempts/2/job.json")["attempt"] == {"number": 2, "token": "U"}
