"""The packages of the payload in a container whose image does not have them: from the lock files, and from nowhere else."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .sagemaker_container import Unfit

CUDA_LOCK = "requirements-cuda.lock"


def prepare_python(template: dict[str, Any], payload: Path, folder: Path) -> str:
    """This interpreter, or one with the packages of the lock files in `payload` that the template names and that came along.

    What the image has in the pinned version is not installed again; a torch that fits stays, with the CUDA libraries that it was
    built for. Raises Unfit.
    """
    locks = [payload / name for name in template["locks"] if (payload / name).is_file()]
    if not locks:
        return sys.executable
    _run([sys.executable, "-m", "venv", "--system-site-packages", str(folder)])
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-input", "--no-deps"]
    has_torch = False
    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        pinned = re.search(r"^torch==([0-9][^\s;\\]*)", text, re.MULTILINE)
        if pinned is not None and _fits("torch", pinned[1]):
            has_torch = True
        elif pinned is not None and _wants_cpu_build(template):
            _run([*pip, "--index-url", template["torchIndex"], f"torch=={pinned[1]}+cpu"])
        elif not (has_torch and lock.name == CUDA_LOCK):
            # every package is in a lock file: what a package asks for besides must not slip in
            hashes = ["--require-hashes"] if "--hash=" in text else []
            _run([*pip, *hashes, "-r", str(lock)])
    return python


def _fits(name: str, pinned: str) -> bool:
    """An image's own build has a local version behind the public one: 2.13.0+cu130."""
    try:
        return version(name).split("+")[0] == pinned.split("+")[0]
    except PackageNotFoundError:
        return False


def _wants_cpu_build(template: dict[str, Any]) -> bool:
    """The plain build for Linux on x86-64 does not load without CUDA's libraries, which a job for the CPU does not install."""
    return bool(template.get("torchIndex")) and (sys.platform, platform.machine()) == ("linux", "x86_64")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Unfit(f"the payload's packages could not be installed: {words[-1] if words else done.returncode}")
