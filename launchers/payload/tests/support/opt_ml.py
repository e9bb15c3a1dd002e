"""A SageMaker container without the service: `/opt/ml` in a folder of a test, with a program that follows a script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import understudy_payload

# Does what the manifest's `script` says: [word, argument] each.
STAND_IN = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
manifest = json.loads(Path(sys.argv[sys.argv.index("--manifest") + 1]).read_text())
paths = manifest["paths"]
for word, value in manifest["script"]:
    if word == "say": print(value, end="", flush=True)
    if word == "environment": print(json.dumps(dict(os.environ)), flush=True)
    if word == "arguments": print(json.dumps(sys.argv[1:]), flush=True)
    if word == "worker": subprocess.Popen(["sleep", "30"], start_new_session=True)
    if word == "deaf": signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if word == "save":
        Path(paths["output"], value).mkdir(parents=True)
        Path(paths["output"], value, "_COMPLETE.json").write_text("{}")
    if word == "until-stop":
        for _ in range(3000):
            if Path(paths["stop"]).exists(): break
            time.sleep(0.01)
    if word == "die": os.kill(os.getpid(), value)
    if word == "exit": sys.exit(value)
"""


class OptMl:
    """A container's /opt/ml, moved to a folder of this test."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "opt-ml"
        self.run = self.root / "checkpoints"
        package = self.root / "input/data/payload/understudy_payload"
        package.mkdir(parents=True)
        for source in Path(understudy_payload.__file__).parent.glob("sagemaker*.py"):
            shutil.copy(source, package)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(STAND_IN)

    def template(self, script: list[list[Any]], **changes: Any) -> None:
        value = {
            "schemaVersion": 1,
            "run": "r1",
            "job": "us-r1-a1",
            "attempt": {"number": 1, "token": "T"},
            "kind": "train",
            "processes": 1,
            "diskBytes": 1,
            "graceSeconds": 12,
            "locks": [],
            "region": "us-east-1",
            "fence": {"bucket": "b", "key": "fences/r1"},
            "manifest": {"kind": "train", "script": script, "data": {"train": ["/opt/ml/input/data/data/a.parquet"]}},
            **changes,
        }
        path = self.root / "input/data/job/job.template.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        settings = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.root / "input/data/payload"),
            "UNDERSTUDY_OPT_ML": str(self.root),
            **environment,
        }
        command = [sys.executable, "-m", "understudy_payload.sagemaker"]
        return subprocess.Popen(command, env=settings, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def execute(self, **environment: str) -> tuple[int, str]:
        process = self.start(**environment)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out.decode()

    def result(self, number: int = 1) -> dict[str, Any]:
        return json.loads((self.run / f"attempts/{number}/result.json").read_text())

    def json(self, path: str) -> dict[str, Any]:
        return json.loads((self.run / path).read_text())


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} never came")
