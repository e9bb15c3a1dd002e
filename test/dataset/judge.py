"""Reads packed shards with pyarrow and with `datasets` and prints all that is in them as one JSON object.

Usage: judge.py CACHE SPLIT=SHARD[,SHARD]...   shards by name
       judge.py CACHE FOLDER                   a folder with a card, the splits that the card names
       judge.py --features CACHE SPLIT=SHARD   only which fields of a turn are Audio, each file on its own
Runs with `datasets` 3 to 5.
"""

import hashlib
import io
import json
import sys
from pathlib import Path

import datasets
import pyarrow.parquet as pq
from datasets import Audio, load_dataset

BACKENDS = ["cosyvoice2", "f5_tts", "e2_tts"]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def samples(data: bytes) -> bytes:
    if data[:4] != b"fLaC":
        return data[44:]
    import soundfile

    with soundfile.SoundFile(io.BytesIO(data)) as file:
        assert (file.samplerate, file.channels, file.subtype) == (16000, 1, "PCM_16"), file
        return file.read(dtype="int16").astype("<i2").tobytes()


def clip(value):
    if value is None:
        return None
    assert list(value) == ["bytes", "path"], list(value)
    return {"sha256": digest(value["bytes"]), "pcm": digest(samples(value["bytes"])), "path": value["path"]}


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


def turn_features(loaded):
    turns = loaded.features["turns"]
    # Version 3 says a list of structs with a list of one dict, later ones with List.
    if isinstance(turns, list):
        return turns[0]
    assert type(turns).__name__ == "List", turns
    return turns.feature


def audio_names(loaded):
    return [name for name, feature in turn_features(loaded).items() if feature == Audio(sampling_rate=16000)]


def files_of(arguments):
    return {split: paths.split(",") for split, paths in (argument.split("=", 1) for argument in arguments)}


def main() -> None:
    only_features = sys.argv[1] == "--features"
    cache, *arguments = sys.argv[2 if only_features else 1 :]
    if only_features:
        # Each on its own: the first file of a set speaks for all of it.
        files = files_of(arguments)
        loaded = {
            split: load_dataset("parquet", data_files=paths, split="train", cache_dir=cache)
            for split, paths in files.items()
        }
    elif "=" in arguments[0]:
        files = files_of(arguments)
        loaded = load_dataset("parquet", data_files=files, cache_dir=cache)
    else:
        folder = Path(arguments[0])
        loaded = load_dataset(str(folder), cache_dir=cache)
        files = {split: sorted(map(str, folder.glob(f"data/{split}-*.parquet"))) for split in loaded}
    result = {"version": datasets.__version__, "splits": {}}
    for split, paths in files.items():
        found = {"audio": audio_names(loaded[split])}
        if not only_features:
            by_datasets = [plain(row) for row in loaded[split].with_format("arrow")[:].to_pylist()]
            by_pyarrow = [plain(row) for path in paths for row in pq.read_table(path).to_pylist()]
            names = [name for name in loaded[split].features if name != "turns"]
            found |= {
                "features": {name: repr(loaded[split].features[name]) for name in names},
                "agree": by_datasets == by_pyarrow,
                "content": [content(row) == row["content_sha256"] for row in by_pyarrow],
                "rows": by_pyarrow,
            }
        result["splits"][split] = found
    json.dump(result, sys.stdout, ensure_ascii=False)


main()
