from __future__ import annotations

from pathlib import Path

import pytest
from support import jobs
from understudy_payload.log_lines import line


def test_a_line_names_what_it_tells() -> None:
    logs = {"loss": 1.23, "grad_norm": 0.98123, "learning_rate": 1e-4, "epoch": 0.25}
    assert line(10, 40, logs) == "step 10/40  loss 1.2300  lr 1.00e-04  grad 0.981  epoch 0.25"
    assert line(10, 40, {"eval_loss": 1.5, "eval_tokens": 812}) == "step 10/40  dev loss 1.5000  of 812 tokens"


def test_what_is_not_a_number_or_not_known_is_seen_all_the_same() -> None:
    assert line(1, 2, {"loss": float("nan"), "new": "thing", "total_flos": 0.0}) == "step 1/2  loss nan  new thing"


def test_training_prints_lines_and_no_dicts(
    tmp_path: Path, model: Path, data: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    value = jobs.train_manifest(tmp_path, model, data, steps=2, evalEverySteps=2, logEverySteps=1)
    assert jobs.run_here(tmp_path, value) == 0
    said = capfd.readouterr().out.splitlines()
    assert [text.split("  ")[0] for text in said] == ["step 1/2", "step 2/2", "step 2/2", "step 2/2"]
    assert "dev loss" in said[2] and "trained for" in said[3]
