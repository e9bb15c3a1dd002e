"""The `/opt/ml` layout of a SageMaker container, and the attempt that it finds itself to be."""

from __future__ import annotations

import json
import os
import re
import socket
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

OPT_ML = "/opt/ml"


class Unfit(Exception):
    """This machine cannot run the job; nothing was started."""


class Container:
    """The folders of this container and the attempt that it finds itself to be."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / "checkpoints"
        # not copied to the bucket: what is written there by others must not be overwritten from here
        self.own = root / "understudy"
        self.template = json.loads((root / "input/data/job/job.template.json").read_text(encoding="utf-8"))
        self.hosts, self.rank = _hosts(root / "input/config/resourceconfig.json")
        first, token = int(self.template["attempt"]["number"]), str(self.template["attempt"]["token"])
        self.fence_token = token
        self.number = _attempt(self.run, first)
        self.token = token if self.number == first else f"{token}.{self.number}"
        self.marker = re.sub(r"-a\d+$", f"-a{self.number}", self.template["job"])
        # one host tells how it went; the others' words stay with them
        self.folder = (self.run if self.rank == 0 else self.own) / "attempts" / str(self.number)
        self.stop = self.folder / "STOP"
        self.fence = self.own / "fence"
        self.started = _now()

    def inside(self, value: Any) -> Any:
        """A manifest's paths, where `/opt/ml` has been moved."""
        if isinstance(value, str):
            return str(self.root) + value[len(OPT_ML) :] if value.startswith(f"{OPT_ML}/") else value
        if isinstance(value, list):
            return [self.inside(entry) for entry in value]
        return {key: self.inside(entry) for key, entry in value.items()} if isinstance(value, dict) else value

    def write_manifest(self) -> Path:
        paths = {
            "output": self.run / "output",
            "events": self.run / "events.jsonl",
            "stop": self.stop,
            "fence": self.fence,
        }
        manifest = {
            **self.inside(self.template["manifest"]),
            "attempt": {"number": self.number, "token": self.token},
            "paths": {name: str(path) for name, path in paths.items()},
        }
        write_text(self.folder / "job.json", json.dumps(manifest, indent=2))
        return self.folder / "job.json"

    def write_supervisor(self) -> None:
        facts = {"schemaVersion": 1, "marker": self.marker, "token": self.token, "job": self.template["job"]}
        about = {"pid": os.getpid(), "host": socket.gethostname(), "startedAt": self.started}
        write_text(self.folder / "supervisor.json", json.dumps({**facts, **about}))

    def write_result(self, code: int, name: str | None, reason: str, detail: str) -> None:
        ended = {"exitCode": code, "signal": name, "reason": reason, "detail": detail}
        times = {"startedAt": self.started, "endedAt": _now(), "host": socket.gethostname()}
        write_text(self.folder / "result.json", json.dumps({"schemaVersion": 1, "marker": self.marker, **ended, **times}))
        if code != 0:
            # becomes the FailureReason of the job
            write_text(self.root / "output/failure", detail or f"the program ended with {name or code}")

    def predecessor_is_done(self) -> bool:
        """Interrupted after it had ended well, before the service noticed: there is nothing left to do."""
        if self.number == int(self.template["attempt"]["number"]):
            return False
        try:
            path = self.run / "attempts" / str(self.number - 1) / "result.json"
            return bool(json.loads(path.read_text(encoding="utf-8"))["exitCode"] == 0)
        except (OSError, ValueError, KeyError):
            return False


def _hosts(path: Path) -> tuple[list[str], int]:
    if not path.is_file():
        return ["localhost"], 0
    config = json.loads(path.read_text(encoding="utf-8"))
    hosts = sorted(config["hosts"])
    return hosts, hosts.index(config["current_host"])


def _attempt(run: Path, first: int) -> int:
    """The planned number, or the one after the newest that was begun: a spot restart."""
    begun = [int(path.parent.name) for path in (run / "attempts").glob("*/supervisor.json") if path.parent.name.isdigit()]
    return max(begun) + 1 if first in begun else first


def write_text(path: Path, text: str) -> None:
    """A reader, and what copies the folder to the bucket, sees the old or the new content, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with staged.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
