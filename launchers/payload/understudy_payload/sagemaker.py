"""python -m understudy_payload.sagemaker: one attempt of a job inside a SageMaker training container.

Maps the `/opt/ml` layout to the entry points of CONTRACT.md. Everything that must survive goes below
`/opt/ml/checkpoints`, which the service copies to the run's folder in the bucket, and back when it begins a spot job again:

    attempts/N/supervisor.json   written when attempt N begins
    attempts/N/job.json          the manifest
    attempts/N/log.txt           everything the program prints; printed here too, for the service's log
    attempts/N/STOP              made on SIGTERM, which comes 120 seconds before the container is killed
    attempts/N/result.json       how it ended, written once and last
    output/, events.jsonl        of all attempts

Needs the standard library alone; boto3 only for secrets and for the fence in the bucket. Exits with the program's own code,
69 when this machine is unfit, 75 when another attempt owns the run. UNDERSTUDY_OPT_ML moves `/opt/ml`, for tests.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from .sagemaker_aws import RemoteFence, fetch_secrets
from .sagemaker_container import OPT_ML, Container, Unfit, write_text
from .sagemaker_packages import prepare_python

UNFIT, FENCED = 69, 75
SECRET = "UNDERSTUDY_SECRET_"
# The service kills the container that long after SIGTERM; the result has to be copied before.
KILL_AFTER, COPY_SECONDS = 120, 10


def main() -> int:
    root = Path(os.environ.get("UNDERSTUDY_OPT_ML", OPT_ML))
    container = Container(root)
    # First of all: a program with the number 1 never hears of a signal that it has no handler for.
    program = Program(container)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, program.on_signal)
    if container.predecessor_is_done():
        return 0
    fence = RemoteFence(container)
    if fence.is_foreign():
        return FENCED
    container.own.mkdir(parents=True, exist_ok=True)
    write_text(container.fence, container.token)
    container.write_supervisor()
    try:
        _check_disk(container)
        environment = _environment(container)
        payload = Path(__file__).resolve().parent.parent
        python = prepare_python(container.template, payload, container.own / "environment")
        command = _command(container, python, container.write_manifest())
    except Unfit as problem:
        container.write_result(UNFIT, None, "node-check", str(problem))
        return UNFIT
    fence.watch()
    code = program.run(command, environment)
    name = None
    if code < 0:
        # death by signal N is negative here; shells call it 128 + N
        name, code = signal.Signals(-code).name, 128 - code
    container.write_result(code, name, "signalled" if name else "exited", "")
    return code


class Program:
    """The payload, its log, and the requests to end it."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._child: subprocess.Popen[bytes] | None = None
        self._killing: threading.Timer | None = None

    def on_signal(self, number: int, _frame: Any) -> None:
        if self._killing is not None:
            return
        self._container.stop.parent.mkdir(parents=True, exist_ok=True)
        self._container.stop.write_text(f"signal {signal.Signals(number).name}\n", encoding="utf-8")
        grace = min(KILL_AFTER, int(self._container.template["graceSeconds"])) - COPY_SECONDS
        self._killing = threading.Timer(max(1, grace), self._kill)
        self._killing.daemon = True
        self._killing.start()

    def run(self, command: list[str], environment: dict[str, str]) -> int:
        path = self._container.folder / "log.txt"
        with path.open("ab") as log:
            # Not through a pipe: a worker that outlives the program would keep it open.
            # In a folder without modules: python -m looks there first.
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self._child = subprocess.Popen(command, env=environment, cwd=self._container.folder, **streams)
        ended = threading.Event()
        printer = threading.Thread(target=_print_log, args=(path, ended))
        printer.start()
        code = self._child.wait()
        with path.open("rb+") as log:
            if log.seek(0, os.SEEK_END) > 0:
                log.seek(-1, os.SEEK_END)
                if log.read(1) != b"\n":
                    log.write(b"\n")
        ended.set()
        printer.join()
        return code

    def _kill(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()


def _check_disk(container: Container) -> None:
    output = container.run / "output"
    try:
        output.mkdir(parents=True, exist_ok=True)
        probe = output / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Unfit(f"the output folder {output} cannot be written: {error}") from error
    need, free = int(container.template["diskBytes"]), shutil.disk_usage(output).free
    if free < need:
        raise Unfit(f"the job writes {need} bytes, but {output} has only {free} bytes free")


def _environment(container: Container) -> dict[str, str]:
    """What the program sees: the container's own, and secrets by the names that the job knows them by."""
    processes = int(container.template["processes"])
    names = {name[len(SECRET) :]: arn for name, arn in os.environ.items() if name.startswith(SECRET)}
    return {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // processes)),
        **{name: value for name, value in os.environ.items() if not name.startswith(SECRET)},
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
        "UNDERSTUDY_JOB": f"{container.marker}.{container.token}",
        **fetch_secrets(names, container.template["region"]),
    }


def _command(container: Container, python: str, manifest: Path) -> list[str]:
    kind, processes = container.template["kind"], int(container.template["processes"])
    if kind == "train" and len(container.hosts) > 1:
        # every container has a network address of its own: nobody else can hold this port there
        rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{container.hosts[0]}:29400", "--rdzv-id", container.marker]
        places = ["--nnodes", str(len(container.hosts)), "--node-rank", str(container.rank)]
        torchrun = ["-m", "torch.distributed.run", *places, "--nproc-per-node", str(processes), *rendezvous]
        return [python, *torchrun, "-m", "understudy_payload", kind, "--manifest", str(manifest)]
    several = ["--processes", str(processes)] if kind == "train" and processes > 1 else []
    return [python, "-m", "understudy_payload", kind, "--manifest", str(manifest), *several]


def _print_log(path: Path, ended: threading.Event) -> None:
    with path.open("rb") as log:
        while True:
            over = ended.is_set()
            while text := log.read(65536):
                sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
            if over:
                return
            ended.wait(0.1)


def _exit() -> NoReturn:
    code = main()
    sys.stdout.flush()
    # threads that still watch must not hold up the end
    os._exit(code)


if __name__ == "__main__":
    _exit()
