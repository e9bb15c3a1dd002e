"""DNSMOS: equal to the published function, guarded where that one fails."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from support.sounds import speechlike

from understudy_payload.dnsmos import Dnsmos, filled_length, find_weights, window_starts
from understudy_payload.onnx_weights import read_weights

# What `speechmos.dnsmos.run` (0.0.1.1, onnxruntime 1.32) says of speechlike(samples): sig, bak, ovrl.
PUBLISHED = {
    4_000: (2.1607, 2.0568, 1.7168),
    12_800: (2.2434, 1.9992, 1.6870),
    15_973: (2.3994, 1.9824, 1.7391),
    16_000: (2.2553, 2.1284, 1.7480),
    48_000: (2.1618, 1.9009, 1.6533),
    144_160: (2.5182, 2.0404, 1.7776),
    200_000: (2.4524, 2.0932, 1.7800),
}
SAMPLES_TO_COMPARE = (16_320, 100_000, 176_000)
HOP = 160
CLOSE = 1e-3  # of a scale from 1 to 5; logarithms of nearly nothing differ more than the rest


@pytest.fixture(scope="module")
def dnsmos() -> Dnsmos:
    weights = find_weights()
    assert weights is not None, "speechmos is not installed"
    return Dnsmos(weights, torch.device("cpu"))


@pytest.mark.parametrize("samples", PUBLISHED)
def test_recorded_scores_of_the_published_function(dnsmos: Dnsmos, samples: int) -> None:
    found = dnsmos(speechlike(samples))
    assert (found["sig"], found["bak"], found["ovrl"]) == pytest.approx(PUBLISHED[samples], abs=CLOSE)


@pytest.mark.parametrize("samples", SAMPLES_TO_COMPARE)
def test_the_published_function_itself(dnsmos: Dnsmos, samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = published(monkeypatch).run(speechlike(samples), 16_000)
    ours = dnsmos(speechlike(samples))
    assert ours == pytest.approx({name: theirs[f"{name}_mos"] for name in ours}, abs=CLOSE)


def test_long_clips_lose_no_window(dnsmos: Dnsmos) -> None:
    """The published function leaves out windows that begin at 7 to 23 s; the mean over all of them is expected here."""
    onnxruntime = pytest.importorskip("onnxruntime")
    clip = speechlike(16_000 * 17 + 123)
    session = onnxruntime.InferenceSession(str(find_weights()))
    windows = [clip[start * HOP : start * HOP + 144_160][None] for start in window_starts(len(clip))]
    raw = numpy.concatenate([session.run(None, {"input_1": window})[0] for window in windows])
    assert len(raw) == 8
    wanted = numpy.polyval((-0.06766283, 1.11546468, 0.04602535), raw[:, 2]).mean()
    assert dnsmos(clip)["ovrl"] == pytest.approx(wanted, abs=CLOSE)


def published(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package's module. What it wants of librosa serves only P.808, which is not compared."""
    pytest.importorskip("onnxruntime")
    librosa = types.ModuleType("librosa")
    librosa.feature = types.SimpleNamespace(melspectrogram=lambda **_: numpy.ones((120, 900), "f4"))
    librosa.power_to_db = lambda values, ref: values
    requests = types.ModuleType("requests")
    requests.session = None
    monkeypatch.setitem(sys.modules, "librosa", librosa)
    monkeypatch.setitem(sys.modules, "requests", requests)
    import speechmos.dnsmos

    return speechmos.dnsmos


@pytest.mark.parametrize(
    ("clip", "complaint"),
    [
        (numpy.zeros(0, "f4"), "too few"),
        (numpy.zeros(3_999, "f4"), "too few"),
        (numpy.zeros((16_000, 2), "f4"), "one channel"),
        (numpy.full(16_000, numpy.nan, "f4"), "between -1 and 1"),
        (numpy.full(16_000, 1.5, "f4"), "between -1 and 1"),
    ],
)
def test_what_is_no_clip_is_refused(dnsmos: Dnsmos, clip: numpy.ndarray, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        dnsmos(clip)


def test_digital_silence_has_a_finite_score(dnsmos: Dnsmos) -> None:
    assert all(numpy.isfinite(score) for score in dnsmos(numpy.zeros(16_000, "f4")).values())


def test_repetition_and_windows() -> None:
    assert [filled_length(samples) for samples in (16_000, 72_080, 72_081, 144_159, 144_160, 200_000)] == [
        256_000, 144_160, 144_162, 288_318, 144_160, 200_000,
    ]  # fmt: skip
    counts = {samples: len(window_starts(samples)) for samples in (144_160, 175_999, 176_000, 256_000)}
    assert counts == {144_160: 1, 175_999: 1, 176_000: 2, 256_000: 7}


def test_weights_are_read_as_they_are() -> None:
    path = find_weights()
    assert path is not None
    weights = read_weights(path)
    assert weights["conv2d_1/kernel:0"].shape == (64, 128, 3, 3)
    assert weights["mos_estimator_logpow/dense_3/BiasAdd/ReadVariableOp/resource:0"] == pytest.approx(
        [0.338847, 0.40790388, 0.32571372]
    )


@pytest.mark.parametrize("data", [b"", b"no model", bytes([0x3A, 0x7F, 1])])
def test_what_is_no_model_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(ValueError, match="model.onnx"):
        read_weights(tmp_path / "model.onnx")
