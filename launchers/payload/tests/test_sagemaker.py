"""The SageMaker adapter as the service runs it: a process of its own on an /opt/ml folder, without AWS."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import understudy_payload
from understudy_payload.sagemaker_container import Unfit
from understudy_payload.sagemaker_packages import prepare_python

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


@pytest.fixture
def opt_ml(tmp_path: Path) -> OptMl:
    return OptMl(tmp_path)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 75])
def test_the_exit_code_is_the_programs_own(opt_ml: OptMl, code: int) -> None:
    opt_ml.template([["exit", code]])
    assert opt_ml.execute()[0] == code
    result = opt_ml.result()
    assert (result["exitCode"], result["signal"], result["reason"]) == (code, None, "exited")
    assert result["marker"] == "us-r1-a1"
    assert (opt_ml.root / "output/failure").exists() == (code != 0)


def test_a_death_by_signal_is_told_as_one(opt_ml: OptMl) -> None:
    opt_ml.template([["die", signal.SIGSEGV]])
    assert opt_ml.execute()[0] == 139
    assert opt_ml.result()["signal"] == "SIGSEGV"
    assert opt_ml.result()["reason"] == "signalled"


def test_the_log_is_printed_and_kept_and_ends_with_its_line(opt_ml: OptMl) -> None:
    # a worker that outlives the program does not hold up the end
    opt_ml.template([["say", "one\n"], ["worker", 0], ["say", "torn"]])
    began = time.monotonic()
    assert opt_ml.execute() == (0, "one\ntorn\n")
    assert time.monotonic() - began < 25
    assert (opt_ml.run / "attempts/1/log.txt").read_text() == "one\ntorn\n"


def test_the_manifest_has_this_attempt_and_its_paths(opt_ml: OptMl) -> None:
    opt_ml.template([["arguments", 0]], processes=4)
    arguments = json.loads(opt_ml.execute()[1])
    manifest = opt_ml.json("attempts/1/job.json")
    assert arguments == ["train", "--manifest", str(opt_ml.run / "attempts/1/job.json"), "--processes", "4"]
    assert manifest["attempt"] == {"number": 1, "token": "T"}
    assert manifest["paths"]["output"] == str(opt_ml.run / "output")
    assert manifest["paths"]["events"] == str(opt_ml.run / "events.jsonl")
    # not in the folder that is copied to the bucket: an old container would overwrite the fence of a newer one
    assert not manifest["paths"]["fence"].startswith(str(opt_ml.run))
    assert manifest["data"]["train"] == [str(opt_ml.root / "input/data/data/a.parquet")]


def test_a_spot_restart_is_the_next_attempt(opt_ml: OptMl) -> None:
    opt_ml.template([["until-stop", 0], ["exit", 3]])
    process = opt_ml.start()
    _wait_for(opt_ml.run / "attempts/1/log.txt")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 3
    opt_ml.template([["exit", 0]])
    assert opt_ml.execute()[0] == 0
    assert opt_ml.result(1)["exitCode"] == 3
    assert opt_ml.result(2)["marker"] == "us-r1-a2"
    assert opt_ml.json("attempts/2/job.json")["attempt"] == {"number": 2, "token": "T.2"}
    assert opt_ml.json("attempts/2/supervisor.json")["job"] == "us-r1-a1"
    # the stop of an earlier attempt must not end this one
    assert opt_ml.json("attempts/2/job.json")["paths"]["stop"] != opt_ml.json("attempts/1/job.json")["paths"]["stop"]


def test_a_killed_container_leaves_an_attempt_without_result(opt_ml: OptMl) -> None:
    opt_ml.template([["until-stop", 0]])
    process = opt_ml.start()
    _wait_for(opt_ml.run / "attempts/1/log.txt")
    process.kill()
    process.wait()
    (opt_ml.run / "attempts/1/STOP").touch()
    opt_ml.template([["exit", 0]])
    assert opt_ml.execute()[0] == 0
    assert not (opt_ml.run / "attempts/1/result.json").exists()
    assert opt_ml.result(2)["exitCode"] == 0


def test_a_restart_after_a_good_end_does_nothing(opt_ml: OptMl) -> None:
    opt_ml.template([["exit", 0]])
    opt_ml.execute()
    opt_ml.template([["say", "again"]])
    assert opt_ml.execute() == (0, "")
    assert not (opt_ml.run / "attempts/2").exists()


def test_a_later_job_of_the_run_begins_its_own_number(opt_ml: OptMl) -> None:
    opt_ml.template([["exit", 1]])
    opt_ml.execute()
    opt_ml.template([["exit", 0]], job="us-r1-a2", attempt={"number": 2, "token": "U"})
    assert opt_ml.execute()[0] == 0
    assert opt_ml.json("attempts/2/job.json")["attempt"] == {"number": 2, "token": "U"}


def test_sigterm_asks_to_save_and_the_deaf_are_killed(opt_ml: OptMl) -> None:
    opt_ml.template([["deaf", 0], ["until-stop", 0], ["save", "checkpoint-5"], ["exit", 3]])
    process = opt_ml.start()
    _wait_for(opt_ml.run / "attempts/1/log.txt")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 3
    assert (opt_ml.run / "output/checkpoint-5/_COMPLETE.json").exists()


def test_who_does_not_stop_is_killed_in_time_for_the_result(opt_ml: OptMl) -> None:
    opt_ml.template([["deaf", 0], ["say", "up\n"], ["until-stop", 0], ["worker", 0], ["die", signal.SIGSTOP]])
    process = opt_ml.start()
    _wait_for(opt_ml.run / "attempts/1/log.txt")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 137
    assert opt_ml.result()["signal"] == "SIGKILL"


def test_a_full_disk_is_told_before_anything_starts(opt_ml: OptMl) -> None:
    opt_ml.template([["say", "ran"]], diskBytes=10**17)
    assert opt_ml.execute() == (69, "")
    assert opt_ml.result()["reason"] == "node-check"
    assert "100000000000000000 bytes" in opt_ml.result()["detail"]
    assert "100000000000000000 bytes" in (opt_ml.root / "output/failure").read_text()


def test_a_secret_that_cannot_be_had_is_told_without_its_value(opt_ml: OptMl) -> None:
    opt_ml.template([["say", "ran"]])
    package = opt_ml.root / "input/data/payload"
    # whatever this machine has: no boto3 in the image
    (package / "boto3.py").write_text("raise ImportError('none here')")
    code, out = opt_ml.execute(UNDERSTUDY_SECRET_HF_TOKEN="arn:aws:secretsmanager:us-east-1:1:secret:hf")
    assert (code, out) == (69, "")
    assert "boto3" in opt_ml.result()["detail"]


def test_secrets_come_by_name_and_their_arns_stay_out(opt_ml: OptMl) -> None:
    opt_ml.template([["environment", 0]])
    (opt_ml.root / "input/data/payload/boto3.py").write_text(
        "class client:\n"
        "    def __init__(self, service, **_): self.service = service\n"
        "    def get_secret_value(self, SecretId): return {'SecretString': f'value of {SecretId}'}\n"
        "    def get_object(self, **_): raise OSError('not reached')\n"
    )
    code, out = opt_ml.execute(UNDERSTUDY_SECRET_HF_TOKEN="arn:x")
    seen = json.loads(out)
    assert code == 0
    assert seen["HF_TOKEN"] == "value of arn:x"
    assert seen["HF_HUB_OFFLINE"] == "1"
    assert "UNDERSTUDY_SECRET_HF_TOKEN" not in seen
    written = "".join(path.read_text() for path in opt_ml.run.rglob("*") if path.suffix == ".json")
    assert "value of arn:x" not in written


FENCE = """
from pathlib import Path
class Body:
    def read(self): return Path({path!r}).read_bytes()
class client:
    def __init__(self, service, **_): pass
    def get_object(self, **_): return {{"Body": Body()}}
"""


def test_a_foreign_fence_in_the_bucket_starts_nothing(opt_ml: OptMl, tmp_path: Path) -> None:
    opt_ml.template([["say", "ran"]])
    fence = tmp_path / "fence"
    fence.write_text("another\n")
    (opt_ml.root / "input/data/payload/boto3.py").write_text(FENCE.format(path=str(fence)))
    assert opt_ml.execute() == (75, "")
    assert not opt_ml.run.exists()


def test_a_fence_that_changes_reaches_the_program(opt_ml: OptMl, tmp_path: Path) -> None:
    opt_ml.template([["until-stop", 0]])
    fence = tmp_path / "fence"
    fence.write_text("T\n")
    (opt_ml.root / "input/data/payload/boto3.py").write_text(FENCE.format(path=str(fence)))
    process = opt_ml.start(UNDERSTUDY_FENCE_SECONDS="0.05")
    _wait_for(opt_ml.run / "attempts/1/log.txt")
    local = Path(opt_ml.json("attempts/1/job.json")["paths"]["fence"])
    assert local.read_text().strip() == "T"
    fence.write_text("newer\n")
    for _ in range(500):
        if local.read_text().strip() != "T":
            break
        time.sleep(0.02)
    assert local.read_text().strip() != "T"
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)


def test_packages_that_cannot_be_installed_are_told(opt_ml: OptMl) -> None:
    (opt_ml.root / "input/data/payload/requirements.lock").write_text("no such package at all\n")
    opt_ml.template([["say", "ran"]], locks=["requirements.lock", "not-there.lock"])
    assert opt_ml.execute()[0] == 69
    assert "could not be installed" in opt_ml.result()["detail"]


def _wheel(folder: Path, name: str, version: str, needs: str = "") -> str:
    """A wheel in a folder; returns its line for a lock file with hashes."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    required = f"Requires-Dist: {needs}\n" if needs else ""
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"version = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


LOCKS = ["requirements-torch.lock", "requirements-cuda.lock", "requirements.lock"]


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A payload whose lock files name wheels of a folder, and an image with a torch of its own, see `_image_torch`."""
    payload, wheels = tmp_path / "payload", tmp_path / "wheels"
    payload.mkdir()
    _wheel(wheels, "torch", "9.1")
    # asks for something that is in no lock file
    leaf = _wheel(wheels, "leaf", "1.0", needs="stray")
    _wheel(wheels, "stray", "1.0")
    (payload / LOCKS[0]).write_text("torch==9.1\n")
    (payload / LOCKS[1]).write_text(_wheel(wheels, "cudalibs", "13.0"))
    (payload / LOCKS[2]).write_text(leaf)
    for name, value in {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}.items():
        monkeypatch.setenv(name, value)
    for name in ("PIP_CONSTRAINT", "PIP_EXTRA_INDEX_URL", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    return payload


def _installed(python: str) -> dict[str, str]:
    asked = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions(path=[%r])}))"
    [site] = Path(python).parents[1].glob("lib/python*/site-packages")
    return json.loads(subprocess.check_output([python, "-c", asked % str(site)]))


def _image_torch(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    from understudy_payload import sagemaker_packages

    monkeypatch.setattr(sagemaker_packages, "version", lambda name: version)


@pytest.mark.parametrize("kept", ["9.1", "9.1+cu130"])
def test_the_torch_of_the_image_stays_when_it_fits(locked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str) -> None:
    _image_torch(monkeypatch, kept)
    found = _installed(prepare_python({"locks": LOCKS}, locked, tmp_path / "environment"))
    assert found.get("leaf") == "1.0"
    # nor the CUDA libraries of another one; and nothing that only a package asks for
    assert not {"torch", "cudalibs", "stray"} & found.keys()


def test_another_torch_is_replaced_with_its_libraries(locked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _image_torch(monkeypatch, "9.0+cu121")
    found = _installed(prepare_python({"locks": LOCKS}, locked, tmp_path / "environment"))
    assert {name: found.get(name) for name in ("torch", "cudalibs", "leaf")} == {"torch": "9.1", "cudalibs": "13.0", "leaf": "1.0"}
    assert "stray" not in found


def test_a_package_with_another_digest_is_refused(locked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _image_torch(monkeypatch, "9.1")
    _wheel(tmp_path / "wheels", "leaf", "1.0", needs="something-else")
    with pytest.raises(Unfit, match="could not be installed"):
        prepare_python({"locks": LOCKS}, locked, tmp_path / "environment")


def test_two_instances_meet_at_the_first(opt_ml: OptMl, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy_payload import sagemaker
    from understudy_payload.sagemaker_container import Container

    opt_ml.template([], processes=8)
    config = opt_ml.root / "input/config/resourceconfig.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"current_host": "algo-2", "hosts": ["algo-2", "algo-1"]}))
    container = Container(opt_ml.root)
    command = sagemaker._command(container, "python3", Path("/job.json"))
    assert " ".join(command) == (
        "python3 -m torch.distributed.run --nnodes 2 --node-rank 1 --nproc-per-node 8 --rdzv-backend c10d"
        " --rdzv-endpoint algo-1:29400 --rdzv-id us-r1-a1 -m understudy_payload train --manifest /job.json"
    )
    # one host tells how it went; the other's words are not copied over it
    assert not container.folder.is_relative_to(opt_ml.run)


def _wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} never came")
