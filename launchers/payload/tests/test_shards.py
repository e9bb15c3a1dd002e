from __future__ import annotations

import pickle
from pathlib import Path

import numpy
import pytest
from support import corpus
from understudy_payload.errors import DataError
from understudy_payload.shards import Shards
from understudy_payload.wav import decode_clip


def test_dialogues_across_shards_and_row_groups(tmp_path: Path) -> None:
    rows = corpus.greenroom(3)
    paths = [
        corpus.write_shard(tmp_path / "a.parquet", rows[:11], group=4),
        corpus.write_shard(tmp_path / "b.parquet", rows[11:], group=100),
    ]
    shards = Shards(paths)
    assert [shards[at].id for at in range(len(shards))] == [row["id"] for row in rows]
    at = next(at for at, row in enumerate(rows) if row["num_turns"] == 2)
    assert shards[at].turns[1].text == rows[at]["turns"][1]["role_text"]
    assert shards[at].samples(shards[at].turns[0]).shape == (8_000,)
    assert pickle.loads(pickle.dumps(shards))[13].id == rows[13]["id"]


def test_roles_are_picked_in_the_order_of_ids(tmp_path: Path) -> None:
    shards = Shards([corpus.write_shard(tmp_path / "a.parquet", corpus.greenroom(2), group=3)])
    chosen = [shards[at].id for at in shards.of_roles(["poet", "monk"])]
    assert chosen == ["monk-000", "monk-001", "poet-000", "poet-001"]


def test_bad_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none.parquet"):
        Shards([tmp_path / "none.parquet"])
    row = corpus.greenroom(1)[0]
    row["turns"][0]["user_audio"] = None
    shards = Shards([corpus.write_shard(tmp_path / "a.parquet", [row])])
    with pytest.raises(DataError, match=f"dialogue {row['id']}, turn 0 has no user audio"):
        shards[0]


def test_wav_bytes() -> None:
    samples = numpy.array([0, 16_384, -32_768])
    assert decode_clip(corpus.wav(samples), "here").tolist() == [0.0, 0.5, -1.0]
    for broken in (b"RIFX", corpus.wav(samples)[:-1], corpus.wav(samples)[:30]):
        with pytest.raises(DataError, match="here"):
            decode_clip(broken, "here")
    stereo = bytearray(corpus.wav(samples))
    stereo[22] = 2
    with pytest.raises(DataError, match="expected 16 kHz mono 16-bit PCM"):
        decode_clip(bytes(stereo), "here")
