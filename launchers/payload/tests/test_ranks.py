"""Several processes, on one machine and on several: one that dies, and going on with another number of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from support import jobs
from support.watch import when

from understudy_payload.marker import MARKER

LONG = {"steps": 400, "saveEverySteps": 2, "evalEverySteps": 400, "microBatch": 2}


def children_of(process: int) -> dict[int, int]:
    """`{rank: process}` of the ranks that a launcher has started."""
    found = {}
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        found[int(next(each[5:] for each in environment if each.startswith(b"RANK=")))] = int(child)
    return found


def newest(folder: Path) -> int:
    return max(int(path.parent.name.split("-")[1]) for path in (folder / "output").glob(f"*/{MARKER}"))


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_takes_the_other_along_and_another_number_goes_on(
    victim: int, tmp_path: Path, model: Path, data: dict[str, Path]
) -> None:
    value = jobs.train_manifest(tmp_path, model, data, **LONG)
    process = subprocess.Popen([*jobs.command(jobs.write(tmp_path, value)), "--processes", "2"], env=jobs.environment())
    when(tmp_path, "checkpoint", lambda: os.kill(children_of(process.pid)[victim], signal.SIGKILL)).join()
    assert process.wait() == 128 + signal.SIGKILL
    assert [event["code"] for event in jobs.events(tmp_path, "failed")] == ["CRASHED"]
    step = newest(tmp_path)
    # one process goes on, with twice the accumulation: the batches of the whole job stay the same
    value = jobs.train_manifest(tmp_path, model, data, **{**LONG, "steps": step + 2})
    value["attempt"]["number"] = 2
    assert jobs.run_here(tmp_path, value) == 0
    assert jobs.events(tmp_path, "resumed")[0]["step"] == step
    assert jobs.events(tmp_path, "started")[-1]["worldSize"] == 1
    assert newest(tmp_path) == step + 2


def start_node(manifest: Path, rank: int, port: int) -> subprocess.Popen[bytes]:
    """What a scheduler starts on a machine that has one of two ranks: a session of its own."""
    world = {
        "RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip
    return subprocess.Popen(jobs.command(manifest), env=jobs.environment(**world), start_new_session=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_machines_go_on_from_where_one_of_them_was_lost(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    path = jobs.write(tmp_path, jobs.train_manifest(tmp_path, model, data, **LONG))
    port = free_port()
    nodes = [start_node(path, rank, port) for rank in (0, 1)]
    when(tmp_path, "checkpoint", nodes[1].kill).join()
    assert [node.wait() for node in nodes] == [1, -signal.SIGKILL]
    step = newest(tmp_path)
    path = jobs.write(tmp_path, jobs.train_manifest(tmp_path, model, data, **{**LONG, "steps": step + 2}))
    port = free_port()
    again = [start_node(path, rank, port) for rank in (0, 1)]
    assert [node.wait() for node in again] == [0, 0]
    assert jobs.events(tmp_path, "resumed")[-1]["step"] == step
    states = sorted(each.name for each in (tmp_path / f"output/checkpoint-{step + 2}").glob("rng_state*"))
    assert states == ["rng_state_0.pth", "rng_state_1.pth"]


def test_a_signal_that_reaches_one_of_two_machines_stops_both(
    tmp_path: Path, model: Path, data: dict[str, Path]
) -> None:
    path = jobs.write(tmp_path, jobs.train_manifest(tmp_path, model, data, **{**LONG, "saveEverySteps": 400}))
    port = free_port()
    nodes = [start_node(path, rank, port) for rank in (0, 1)]
    when(tmp_path, "step", nodes[1].terminate).join()
    assert [node.wait() for node in nodes] == [3, 3]
    assert jobs.events(tmp_path, "stopped")[0]["step"] == newest(tmp_path)
