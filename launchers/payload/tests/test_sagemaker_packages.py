"""The packages of the payload in a container whose image does not have them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from support.opt_ml import OptMl
from understudy_payload.sagemaker_container import Unfit
from understudy_payload.sagemaker_packages import prepare_python


@pytest.fixture
def opt_ml(tmp_path: Path) -> OptMl:
    return OptMl(tmp_path)


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
