"""Reads packed shards with pyarrow and with `datasets` and prints all that is in them as one JSON object.

Usage: judge.py CACHE SPLIT=SHARD[,SHARD]...
"""

import hashlib
import json
import sys

import pyarrow.parquet as pq
from datasets import Audio, List, load_dataset

BACKENDS = ["cosyvoice2", "f5_tts", "e2_tts"]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def clip(value):
    if value is None:
        return None
    assert list(value) == ["bytes", "path"], list(value)
    return {"sha256": digest(value["bytes"]), "pcm": digest(value["bytes"][44:]), "path": value["path"]}


def plain(row):
    row = dict(row)
    row["turns"] = [
        {key: clip(value) if "_audio" in key else value for key, value in turn.items()} for turn in row["turns"]
    ]
    return row


def content(row):
    """The definition of content_sha256, written down a second time."""
    value = {
        "role_id": row["role_id"],
        "kind": row["kind"],
        "category": row["category"],
        "system_prompt": row["system_prompt"],
        "context": row["context"],
        "turns": [
            {
                "user_text": turn["user_text"],
                "role_text": turn["role_text"],
                "user_pcm": turn["user_audio"]["pcm"],
                "role_pcm": {name: (turn["role_audio_" + name] or {"pcm": None})["pcm"] for name in BACKENDS},
            }
            for turn in row["turns"]
        ],
    }
    return digest(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def main() -> None:
    cache, *arguments = sys.argv[1:]
    files = {split: paths.split(",") for split, paths in (argument.split("=") for argument in arguments)}
    loaded = load_dataset("parquet", data_files=files, cache_dir=cache)
    result = {}
    for split, paths in files.items():
        by_datasets = [plain(row) for row in loaded[split].with_format("arrow")[:].to_pylist()]
        by_pyarrow = [plain(row) for path in paths for row in pq.read_table(path).to_pylist()]
        turns = loaded[split].features["turns"]
        assert isinstance(turns, List), turns
        audio = [name for name, feature in turns.feature.items() if feature == Audio(sampling_rate=16000)]
        result[split] = {
            "features": {name: str(feature) for name, feature in loaded[split].features.items() if name != "turns"},
            "audio": audio,
            "agree": by_datasets == by_pyarrow,
            "content": [content(row) == row["content_sha256"] for row in by_pyarrow],
            "rows": by_pyarrow,
        }
    json.dump(result, sys.stdout, ensure_ascii=False)


main()
