"""Clips of a data set that was packed as FLAC: the very samples, or an error that names the place."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import soundfile
from support import corpus
from understudy_payload.errors import DataError
from understudy_payload.shards import Shards
from understudy_payload.wav import decode_clip

# Written by the packer from the samples of `tone`; test/dataset/stored-flac.test.ts holds it to both.
GOLDEN = Path(__file__).parent / "golden/tone.flac"


def tone() -> numpy.ndarray:
    index = numpy.arange(4_000)
    return numpy.concatenate([(index * 37) % 4_001 - 2_000 + (index * index) % 7, [32_767, -32_768]])


def flac(samples: numpy.ndarray, rate: int = 16_000, subtype: str = "PCM_16") -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="FLAC", subtype=subtype)
    return buffer.getvalue()


def test_the_packers_flac_gives_the_samples_of_its_wav() -> None:
    samples = decode_clip(GOLDEN.read_bytes(), "here")
    assert samples.dtype == numpy.float32 and samples.shape == (4_002,)
    assert numpy.array_equal(samples, decode_clip(corpus.wav(tone()), "here"))


def test_a_shard_may_hold_either(tmp_path: Path) -> None:
    rows = corpus.greenroom(1)
    rows[0]["turns"][0]["user_audio"] = {"bytes": GOLDEN.read_bytes(), "path": "a.flac"}
    shards = Shards([corpus.write_shard(tmp_path / "a.parquet", rows)])
    assert [shards[at].samples(shards[at].turns[0]).shape for at in (0, 1)] == [(4_002,), (8_000,)]


@pytest.mark.parametrize(
    "broken",
    [
        GOLDEN.read_bytes()[:20],
        GOLDEN.read_bytes()[:42],
        GOLDEN.read_bytes()[:-600],
        b"fLaC" + b"x" * 300,
        flac(tone().astype("<i2"), rate=24_000),
        flac(numpy.stack([tone().astype("<i2")] * 2, axis=1)),
        flac(tone() / 32_768, subtype="PCM_24"),
    ],
    ids=["half a header", "only a header", "cut", "rubbish", "another rate", "stereo", "24 bits"],
)
def test_broken_and_foreign_flac_is_named(broken: bytes) -> None:
    with pytest.raises(DataError, match=r"here: (broken FLAC|expected 16 kHz|the FLAC header)"):
        decode_clip(broken, "here")


def test_without_the_library_wav_is_read_and_flac_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    assert decode_clip(corpus.wav(tone()), "here").shape == (4_002,)
    with pytest.raises(DataError, match="here is FLAC") as caught:
        decode_clip(GOLDEN.read_bytes(), "here")
    assert (caught.value.code, "audio.codec: wav" in caught.value.hint) == ("FLAC_UNSUPPORTED", True)


def test_wav_needs_no_library() -> None:
    asks = "import sys, understudy_payload.shards; sys.exit('soundfile' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asks], cwd=GOLDEN.parents[2], check=False).returncode == 0
