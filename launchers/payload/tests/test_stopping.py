"""A network disk that fails for a moment, and one that is gone."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import jobs
from support.clock import Clock

from understudy_payload import stopping
from understudy_payload.errors import StorageLost
from understudy_payload.stopping import Fence, StopRequest, persist


class Disk:
    """Files whose every use fails while `broken` is above 0; each failure takes one off it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
        self.broken = 0
        for name in ("stat", "read_text"):
            monkeypatch.setattr(Path, name, self._failing(getattr(Path, name), paths))

    def _failing(self, real: Any, paths: tuple[Path, ...]) -> Any:
        def act(path: Path, *arguments: Any, **options: Any) -> Any:
            if path in paths and self.broken:
                self.broken -= 1
                raise OSError(errno.ESTALE, "Stale file handle", str(path))
            return real(path, *arguments, **options)

        return act


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Disk]:
    yield Disk(monkeypatch, tmp_path / "STOP", tmp_path / "fence")
    monkeypatch.undo()


def test_a_stop_file_is_found_once_the_disk_is_back(tmp_path: Path, disk: Disk, clock: Clock) -> None:
    request = StopRequest(tmp_path / "STOP")
    (tmp_path / "STOP").touch()
    disk.broken = 5
    assert [request.reason() for _ in range(5)] == [None] * 5
    assert request.reason() == "stop-file"


@pytest.mark.parametrize("what", ["stop", "fence"])
def test_only_an_unbroken_failure_of_ten_minutes_ends_a_job(
    what: str, tmp_path: Path, disk: Disk, clock: Clock
) -> None:
    poll = StopRequest(tmp_path / "STOP").reason if what == "stop" else Fence(tmp_path / "fence", "a").poll
    disk.broken = 2
    for clock.now in (0.0, 590.0, 595.5, 1_200.0):  # the third look goes well
        assert not poll()
    disk.broken = 1_000
    for clock.now in (2_000.0, 2_590.0):
        assert not poll()
    clock.now = 2_601.0
    with pytest.raises(StorageLost, match="cannot be reached since 601 s: .*Stale file handle"):
        poll()


def test_two_looks_far_apart_are_no_unbroken_failure(tmp_path: Path, disk: Disk, clock: Clock) -> None:
    request = StopRequest(tmp_path / "STOP")
    disk.broken = 2
    for clock.now in (0.0, 3_000.0, 3_010.0):
        assert request.reason() is None


def test_a_fence_is_polled_every_few_seconds_at_most(tmp_path: Path, clock: Clock) -> None:
    fence = Fence(tmp_path / "fence", "attempt-1")
    assert not fence.poll()
    (tmp_path / "fence").write_text("attempt-2\n")
    clock.now = stopping.POLL_SECONDS / 2
    assert not fence.poll() and fence.broken()
    clock.now = stopping.POLL_SECONDS
    assert fence.poll()


def test_a_check_before_a_write_waits_until_it_knows(tmp_path: Path, disk: Disk, clock: Clock) -> None:
    fence = Fence(tmp_path / "fence", "attempt-1")
    (tmp_path / "fence").write_text("attempt-2")
    disk.broken = 20
    assert fence.broken() and disk.broken == 0 and clock.now > 0
    disk.broken = 1_000_000
    with pytest.raises(StorageLost):
        fence.check()


def test_waits_grow_up_to_a_bound(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.sleep(seconds)

    def fail() -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(stopping, "sleep", sleep)
    with pytest.raises(StorageLost, match="the disk cannot be reached"):
        persist("the disk", fail)
    assert waits == sorted(waits) and waits[0] < 1 and waits[-1] == stopping.LONGEST_WAIT
    assert sum(waits) >= stopping.PATIENCE_SECONDS


def test_training_goes_on_over_a_disk_that_fails_for_a_moment(
    tmp_path: Path, model: Path, data: dict[str, Path], disk: Disk, clock: Clock
) -> None:
    value = jobs.train_manifest(tmp_path, model, data, steps=3)
    disk.broken = 4
    assert jobs.run_here(tmp_path, value) == 0
    assert disk.broken == 0 and jobs.events(tmp_path)[-1]["type"] == "finished"


def test_a_disk_that_is_gone_ends_the_job_as_that_of_an_unfit_machine(
    tmp_path: Path, model: Path, data: dict[str, Path], disk: Disk, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    disk.broken = 1_000_000
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data, steps=3)) == 69
    assert "STORAGE_LOST: the fence" in capsys.readouterr().err
    assert not (tmp_path / "events.jsonl").exists()  # nobody knows whose it is
