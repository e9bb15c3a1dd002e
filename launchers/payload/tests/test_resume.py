"""Going on from the newest checkpoint, and never silently from an older one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import jobs
from support.clock import Clock
from support.disk import break_file, mend_file

from understudy_payload import resume, stopping
from understudy_payload.errors import CheckpointError, StorageLost
from understudy_payload.events import EventLog
from understudy_payload.marker import MARKER
from understudy_payload.resume import Found, check_world, newest_complete, see


def events(folder: Path) -> EventLog:
    return EventLog(folder / "events.jsonl", 1)


@pytest.mark.parametrize("name", [MARKER, "optimizer.pt", "trainer_state.json"])
def test_a_checkpoint_that_cannot_be_read_is_waited_for(name: str, copy_of_trained: Path, clock: Clock) -> None:
    output = copy_of_trained / "output"
    file = output / "checkpoint-8" / name
    size = file.stat().st_size
    break_file(file)
    if name != MARKER:  # the kernel's file has no size; the marker must agree, or its size alone would give it away
        marker = json.loads((output / "checkpoint-8" / MARKER).read_text())
        marker["files"][name]["bytes"] = 0
        (output / "checkpoint-8" / MARKER).write_text(json.dumps(marker))

    def heal(now: float) -> None:
        if now > 60 and file.is_symlink():
            mend_file(file)
            if name != MARKER:
                marker["files"][name]["bytes"] = size
                (output / "checkpoint-8" / MARKER).write_text(json.dumps(marker))

    clock.meanwhile = heal
    found = newest_complete(output, events(copy_of_trained))
    assert found and found.step == 8 and clock.now > 60
    assert not (copy_of_trained / "events.jsonl").exists()


def test_one_that_stays_unreadable_ends_the_job_as_unfit(
    copy_of_trained: Path, model: Path, data: dict[str, Path], clock: Clock
) -> None:
    break_file(copy_of_trained / "output/checkpoint-8" / MARKER)
    assert jobs.run_here(copy_of_trained, jobs.train_manifest(copy_of_trained, model, data)) == 69
    assert [event["type"] for event in jobs.events(copy_of_trained)] == ["started", "failed"]
    (failed,) = jobs.events(copy_of_trained, "failed")
    assert failed["code"] == "STORAGE_LOST" and "Input/output error" in failed["message"]
    assert clock.now >= stopping.PATIENCE_SECONDS


@pytest.mark.parametrize("what", ["output", "checkpoint-8"])
def test_what_is_listed_and_not_there_is_a_disk_that_is_not_mounted(
    what: str, copy_of_trained: Path, clock: Clock
) -> None:
    place = copy_of_trained / "output" if what == "output" else copy_of_trained / "output" / what
    shutil.rmtree(place)
    place.symlink_to(copy_of_trained / "not-mounted")
    with pytest.raises(StorageLost):
        newest_complete(copy_of_trained / "output", events(copy_of_trained))


def test_one_that_must_not_be_read_is_no_older_one_either(
    copy_of_trained: Path, model: Path, data: dict[str, Path], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(folder: Path) -> dict[str, Path]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(resume, "files_of", forbidden)
    assert jobs.run_here(copy_of_trained, jobs.train_manifest(copy_of_trained, model, data)) == 2
    assert jobs.events(copy_of_trained, "failed")[0]["code"] == "CHECKPOINT_FORBIDDEN" and clock.now == 0


def test_a_listing_that_is_late_is_waited_for(copy_of_trained: Path, clock: Clock) -> None:
    output, log = copy_of_trained / "output", events(copy_of_trained)
    for step in (2, 4, 6, 8):
        log.write("checkpoint", step=step, checkpoint=f"checkpoint-{step}")
    shutil.rmtree(output / "checkpoint-2")  # an old one that was removed is none to wait for
    assert newest_complete(output, log).step == 8 and clock.now == 0
    (output / "checkpoint-8").rename(copy_of_trained / "late")
    clock.meanwhile = lambda now: now >= 30 and (copy_of_trained / "late").rename(output / "checkpoint-8")
    assert newest_complete(output, log).step == 8 and clock.now == 30


def test_one_that_is_gone_is_reported(copy_of_trained: Path, clock: Clock) -> None:
    output, log = copy_of_trained / "output", events(copy_of_trained)
    log.write("checkpoint", step=8, checkpoint="checkpoint-8")
    (copy_of_trained / "events.jsonl").open("a").write('{"type":"checkpoint","st')  # torn
    shutil.rmtree(output / "checkpoint-8")
    assert newest_complete(output, log).step == 6
    assert clock.now == pytest.approx(resume.LATE_SECONDS, abs=stopping.LONGEST_WAIT)
    lines = (copy_of_trained / "events.jsonl").read_text().splitlines()
    skipped = json.loads(lines[-1])
    assert (skipped["type"], skipped["checkpoint"]) == ("checkpoint_skipped", "checkpoint-8")
    assert "gone" in skipped["reason"]


def test_a_skipped_checkpoint_is_saved_anew(
    trained: Path, copy_of_trained: Path, model: Path, data: dict[str, Path]
) -> None:
    """Its marker is there, so nothing but its step says that it is not the one that the job went on from."""
    broken = copy_of_trained / "output/checkpoint-8"
    with open(broken / "optimizer.pt", "ab") as file:
        file.write(b"more")
    assert jobs.run_here(copy_of_trained, jobs.train_manifest(copy_of_trained, model, data)) == 0
    found = newest_complete(copy_of_trained / "output", events(copy_of_trained))
    assert found and (found.step, found.digests) == (8, True)
    assert (broken / "optimizer.pt").stat().st_size == (trained / "output/checkpoint-8/optimizer.pt").stat().st_size


def test_ranks_wait_for_what_the_first_one_has_chosen(copy_of_trained: Path, clock: Clock) -> None:
    output = copy_of_trained / "output"
    found = newest_complete(output, events(copy_of_trained))
    (output / "checkpoint-8").rename(copy_of_trained / "late")
    clock.meanwhile = lambda now: now > 20 and (copy_of_trained / "late").exists() and (
        copy_of_trained / "late").rename(output / "checkpoint-8")
    see(found)
    assert clock.now > 20
    (output / "checkpoint-8" / MARKER).unlink()
    with pytest.raises(StorageLost, match="checkpoint-8"):
        see(found)


def test_zero_goes_on_with_as_many_processes(tmp_path: Path) -> None:
    found = Found(8, tmp_path, True, 8)
    check_world(found, 2, 8)
    check_world(found, 0, 4)
    with pytest.raises(CheckpointError, match="saved by 8 processes and ZeRO cannot go on with 4"):
        check_world(found, 2, 4)
