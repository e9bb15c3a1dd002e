"""A disk without room: a small one of memory, in a mount namespace of its own that is gone with the job."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support import jobs

from understudy_payload.events import EventLog
from understudy_payload.marker import MARKER
from understudy_payload.resume import newest_complete

ROOM = """
set -eu
mount -t tmpfs -o size="$1" none "$2"
cp -a "$2.before/." "$2/"
shift_to=$2
shift 2
code=0
"$@" || code=$?
cp -a "$shift_to/." "$shift_to.after/"
exit "$code"
"""
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]


def can_mount() -> bool:
    try:
        return subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not can_mount(), reason="needs user and mount namespaces (unshare)")


def run_with_room(run: Path, value: dict, kibibytes: int) -> int:
    """Run a job whose folder has this much room; what it leaves replaces the folder."""
    before, after = run.with_name("run.before"), run.with_name("run.after")
    path = jobs.write(run, value)
    run.rename(before)
    for folder in (run, after):
        folder.mkdir()
    command = [*UNSHARE, "sh", "-c", ROOM, "room", f"{kibibytes}k", str(run), *jobs.command(path, value["kind"])]
    code = subprocess.run(command, env=jobs.environment()).returncode
    run.rmdir()
    shutil.rmtree(before)
    after.rename(run)
    return code


def size_of(folder: Path) -> int:
    """KiB as a disk counts them."""
    return sum(-(-path.stat().st_size // 4096) * 4 for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(("share", "words"), [(0.1, "os error 28"), (0.5, "Errno 28"), (0.75, "Errno 28")])
def test_half_a_checkpoint_makes_room_for_the_news(
    share: float, words: str, tmp_path: Path, trained: Path, model: Path, data: dict[str, Path]
) -> None:
    """`share`: of the second checkpoint that has room: part of the weights, then of the optimizer's state."""
    run = tmp_path / "run"
    value = jobs.train_manifest(run, model, data)
    room = int(size_of(trained / "output/checkpoint-2") * (1 + share)) + 40
    assert run_with_room(run, value, room) == 1
    (failed,) = jobs.events(run, "failed")
    assert failed["code"] == "DISK_FULL" and failed["hint"]
    assert "checkpoint-4" in failed["message"] and words in failed["message"]
    assert [path.name for path in (run / "output").iterdir()] == ["checkpoint-2"]
    found = newest_complete(run / "output", EventLog(run / "events.jsonl", 2))
    assert found and found.step == 2
    # with more room it goes on as if nothing had happened
    value["attempt"]["number"] = 2
    assert jobs.run_here(run, value) == 0
    assert jobs.events(run, "resumed")[0]["step"] == 2
    markers = [json.loads((each / "output/checkpoint-8" / MARKER).read_text()) for each in (run, trained)]
    adapters = [marker["files"]["adapter_model.safetensors"]["sha256"] for marker in markers]
    assert adapters[0] == adapters[1]


def test_a_merge_leaves_no_half_file(tmp_path: Path, trained: Path, model: Path) -> None:
    run = tmp_path / "run"
    value = jobs.manifest("merge", run, model, checkpoint=str(trained / "output/checkpoint-8"))
    assert run_with_room(run, value, size_of(model) // 2) == 1
    assert jobs.events(run, "failed")[0]["code"] == "DISK_FULL"
    left = {path.name for path in (run / "output").iterdir()}
    assert "model.safetensors" not in left and not any(name.endswith(".tmp") for name in left)
