"""Whose fault an error is: this machine's, its memory's, its disk's, or none of them.

Libraries wrap what the system said, some of them into plain text, so the whole chain of causes is looked through.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

from .errors import DeviceLost, DiskFull, OutOfMemory, PayloadError, StorageLost

# What CUDA and NCCL say of a program's own fault, which it would commit on any machine. Every CUDA error names
# "device-side assertions" in its advice, one that was triggered is a "device-side assert".
DEVICE_ERROR = re.compile(
    r"CUDA error|CUDA driver|cudaGetDeviceCount|No CUDA GPUs|CUDNN_STATUS_EXECUTION_FAILED|NCCL|\bECC\b"
)
OWN_FAULT = re.compile(
    r"device-side assert\b|invalid (configuration )?argument|STATUS_(INVALID_VALUE|NOT_SUPPORTED)|invalid usage",
    re.IGNORECASE,
)
NO_MEMORY = re.compile(r"out of memory|ALLOC_FAILED|Failed to CUDA (m|c)alloc", re.IGNORECASE)
NO_HOST_MEMORY = re.compile(r"DefaultCPUAllocator: (can't allocate|not enough) memory")
# How a number of the system stands in the words of Python, Arrow and Rust.
NUMBER = re.compile(r"\[errno (\d+)\]|\(os error (\d+)\)", re.IGNORECASE)
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# A disk or the network before it. Not among them: what a wrong path or missing rights say.
LOST = frozenset(
    getattr(errno, name)
    for name in (
        "EIO", "ESTALE", "ENXIO", "ENODEV", "EROFS", "ETIMEDOUT", "ENOTCONN", "ESHUTDOWN", "ECONNABORTED", "EHOSTDOWN",
        "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH", "EREMOTEIO", "EUCLEAN", "EBADMSG", "ENOLINK", "ECOMM", "EPROTO",
    )
    if hasattr(errno, name)
)  # fmt: skip


def fault(error: BaseException) -> PayloadError | None:
    """What failed, as the error that ends the job; None when it was nothing of the machine."""
    message = f"{type(error).__name__}: {error}"
    for known, kind in ((out_of_memory, OutOfMemory), (device_lost, DeviceLost), (disk_full, DiskFull)):
        if known(error):
            return kind(message)
    return StorageLost(message) if disk_lost(error) else None


def out_of_memory(error: BaseException) -> bool:
    """True when a GPU or the machine had no memory left, whichever library says so."""
    return any(_lacks_memory(each) for each in _chain(error))


def device_lost(error: BaseException) -> bool:
    """True when a GPU or the links between GPUs failed, and another machine may do better."""
    said = [each for each in _chain(error) if _is_from_device(each)]
    return bool(said) and not out_of_memory(error) and not any(OWN_FAULT.search(str(each)) for each in said)


def disk_full(error: BaseException) -> bool:
    """True when room or quota is used up."""
    return any(_number(each) in FULL for each in _chain(error))


def disk_lost(error: BaseException) -> bool:
    """True when a disk or the way to it failed, and trying again, here or elsewhere, may do better."""
    return any(_number(each) in LOST for each in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _lacks_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or _number(error) == errno.ENOMEM:
        return True
    if not isinstance(error, RuntimeError):
        return False
    return NO_HOST_MEMORY.search(str(error)) is not None or (
        _is_from_device(error) and NO_MEMORY.search(str(error)) is not None
    )


def _is_from_device(error: BaseException) -> bool:
    # torch's AcceleratorError and DistBackendError are RuntimeErrors; older versions raise that itself
    return isinstance(error, RuntimeError) and DEVICE_ERROR.search(str(error)) is not None


def _number(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if isinstance(error, PayloadError):
        return None  # its own code says what it is
    found = NUMBER.search(str(error))
    return int(found[1] or found[2]) if found else None
