"""What the SageMaker adapter looks at before it starts a program, and while it runs: disk, secrets, the fence, its peers."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from support.opt_ml import OptMl, wait_for


@pytest.fixture
def opt_ml(tmp_path: Path) -> OptMl:
    return OptMl(tmp_path)


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
    wait_for(opt_ml.run / "attempts/1/log.txt")
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
