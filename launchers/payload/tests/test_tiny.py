from __future__ import annotations

from pathlib import Path

import pytest
from understudy_payload.errors import PayloadError
from understudy_payload.revision import folder_revision
from understudy_payload.tiny import build_tiny_model


def test_a_seed_is_a_model(tmp_path: Path, model: Path) -> None:
    revision = folder_revision(model)
    assert build_tiny_model(tmp_path / "again", seed=7) == revision
    assert build_tiny_model(tmp_path / "again", seed=7) == revision
    with pytest.raises(PayloadError, match="holds something else"):
        build_tiny_model(tmp_path / "again", seed=8)
    assert [path.name for path in tmp_path.iterdir()] == ["again"]
    assert (model / "spk_dict.pt").exists()
