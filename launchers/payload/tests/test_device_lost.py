"""A machine whose GPU fails is not a program that is wrong."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from support import jobs

from understudy_payload.faults import device_lost, fault, out_of_memory
from understudy_payload.trainer import OmniTrainer

# what torch adds to every CUDA error
ADVICE = (
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
LOST = [
    torch.AcceleratorError(f"CUDA error: uncorrectable ECC error encountered{ADVICE}"),
    torch.AcceleratorError(f"CUDA error: unspecified launch failure{ADVICE}"),
    RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle, ...)`"),
    RuntimeError("GPU 3: double-bit ECC error"),
    RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    RuntimeError("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"),
    RuntimeError("No CUDA GPUs are available"),
    torch.distributed.DistBackendError(
        "NCCL error in: ProcessGroupNCCL.cpp:94, unhandled system error, NCCL version 2.27.3\n"
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error."
    ),
]
OWN = [
    torch.AcceleratorError(f"CUDA error: device-side assert triggered{ADVICE}"),
    RuntimeError(f"CUDA error: invalid configuration argument{ADVICE}"),
    torch.distributed.DistBackendError("NCCL error in: NCCLUtils.cpp:77, invalid usage, NCCL version 2.27.3"),
    RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"),
    ValueError("CUDA error is no more than a word here"),
]
MEMORY = [
    MemoryError(),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    OSError("Cannot allocate memory (os error 12)"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    torch.AcceleratorError(f"CUDA error: out of memory{ADVICE}"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
]


@pytest.mark.parametrize("error", LOST, ids=str)
def test_a_failed_device(error: Exception) -> None:
    assert device_lost(error) and not out_of_memory(error)


@pytest.mark.parametrize("error", OWN, ids=str)
def test_a_fault_of_the_program(error: Exception) -> None:
    assert not device_lost(error) and not out_of_memory(error)


@pytest.mark.parametrize("error", MEMORY, ids=str)
def test_too_little_memory(error: Exception) -> None:
    assert out_of_memory(error) and not device_lost(error)


def caused(outer: Exception, inner: Exception) -> Exception:
    try:
        raise outer from inner
    except type(outer) as error:
        return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.EIO, "Input/output error"), "STORAGE_LOST"),
        (OSError(errno.ESTALE, "Stale file handle"), "STORAGE_LOST"),
        (OSError(errno.EROFS, "Read-only file system"), "STORAGE_LOST"),
        (ValueError("Could not open file. Detail: [errno 5] Input/output error"), "STORAGE_LOST"),
        (OSError("Caught OSError in DataLoader worker process 0.\nOSError: [Errno 116] Stale file handle"), "STORAGE_LOST"),
        (caused(ValueError("unreadable"), OSError(errno.ENOTCONN, "not connected")), "STORAGE_LOST"),
        (Exception("Error while serializing: I/O error: No space left on device (os error 28)"), "DISK_FULL"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "DISK_FULL"),
        (FileNotFoundError(errno.ENOENT, "No such file"), None),
        (PermissionError(errno.EACCES, "Permission denied"), None),
        (ValueError("error 5 of 28"), None),
    ],
    ids=str,
)
def test_a_failed_disk(error: Exception, code: str | None) -> None:
    found = fault(error)
    assert (found and found.code) == code


@pytest.mark.parametrize(
    ("error", "code", "name"),
    [(LOST[0], 69, "DEVICE_LOST"), (OWN[0], 1, "CRASHED"), (MEMORY[-1], 1, "OUT_OF_MEMORY")],
    ids=["lost", "own", "memory"],
)
def test_how_a_job_ends(
    error: Exception, code: int, name: str, tmp_path: Path, model: Path, data: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(OmniTrainer, "compute_loss", fail)
    assert jobs.run_here(tmp_path, jobs.train_manifest(tmp_path, model, data)) == code
    (failed,) = jobs.events(tmp_path, "failed")
    assert failed["code"] == name and str(error)[:20] in failed["message"] and failed["hint"]


# Runs as `python -m understudy_payload` does, with a loss that fails and a clean-up that aborts, as that of CUDA may.
PROGRAM = """
import atexit, os, runpy, sys
from understudy_payload.trainer import OmniTrainer

def fail(*_, **__):
    raise RuntimeError("CUDA error: uncorrectable ECC error encountered")

OmniTrainer.compute_loss = fail
atexit.register(os.abort)
runpy.run_module("understudy_payload", run_name="__main__", alter_sys=True)
"""


def test_the_exit_code_survives_a_clean_up_that_aborts(tmp_path: Path, model: Path, data: dict[str, Path]) -> None:
    path = jobs.write(tmp_path, jobs.train_manifest(tmp_path, model, data))
    command = [sys.executable, "-c", PROGRAM, "train", "--manifest", str(path)]
    ended = subprocess.run(command, env=jobs.environment(), capture_output=True, text=True)
    assert ended.returncode == 69 and "uncorrectable ECC" in ended.stderr


@pytest.mark.parametrize(
    ("first", "follows", "code"),
    [
        ("CRASHED", LOST[-1], 1),  # the links are well, the peer had a bug
        ("SHARD_UNREADABLE", LOST[-1], 1),
        ("STORAGE_LOST", RuntimeError("Connection closed by peer [127.0.0.1]:4711"), 69),
        ("DEVICE_LOST", RuntimeError("Connection closed by peer [127.0.0.1]:4711"), 69),
    ],
)
def test_a_rank_that_lost_a_peer_says_what_the_peer_said(
    first: str, follows: Exception, code: int, tmp_path: Path, model: Path, data: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from understudy_payload.__main__ import _ended
    from understudy_payload.job import Job
    from understudy_payload.manifest import read_manifest

    def fail(*_: Any) -> None:
        job.last_words.write("failed", code=first, message="of another rank", hint="")
        raise follows

    path = jobs.write(tmp_path, jobs.train_manifest(tmp_path, model, data))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("understudy_payload.train.train", fail)
    manifest = read_manifest(path, "train")
    job = Job(manifest)
    assert _ended("train", manifest, job) == code
    assert [event["code"] for event in jobs.events(tmp_path, "failed")] == [first]
