"""Writes the tables that the tests of Parquet sources read: python tables.py FOLDER, each in every form they come in."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Audio, Dataset, DatasetInfo, Features, List, Value
from datasets.table import InMemoryTable

folder = Path(sys.argv[1])
clip = (folder / "clip.wav").read_bytes()


def turns(number, count):
    return [
        {
            "user_text": f"question {number}.{turn} 胡",
            "role_text": f"answer {number}.{turn}",
            "user_audio": {"bytes": clip, "path": f"{number}.{turn}.wav"},
            "role_audio_f5_tts": {"bytes": clip, "path": None} if turn == 0 else None,
        }
        for turn in range(count)
    ]


rows = [
    {"role_id": "thor", "system_prompt": f"prompt {n}", "context": None, "turns": turns(n, 1 + n % 3)} for n in range(30)
]
turn = {
    "user_text": Value("string"),
    "role_text": Value("string"),
    "user_audio": Audio(sampling_rate=16000, decode=False),
    "role_audio_f5_tts": Audio(sampling_rate=16000, decode=False),
}
text = {"role_id": Value("string"), "system_prompt": Value("string"), "context": Value("string")}

audio = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
struct = pa.struct(
    [("user_text", pa.string()), ("role_text", pa.string()), ("user_audio", audio), ("role_audio_f5_tts", audio)]
)
schema = pa.schema(
    [("role_id", pa.string()), ("system_prompt", pa.string()), ("context", pa.string()), ("turns", pa.list_(struct))]
)
table = pa.Table.from_pylist(rows, schema)

# Not from_list: that would decode and encode the clips, with libraries that are not needed for what is stored.
(folder / "list").mkdir()
info = DatasetInfo(features=Features({**text, "turns": List(turn)}))
Dataset(InMemoryTable(table), info=info).to_parquet(folder / "list" / "train.parquet", batch_size=7)

for name, settings in {
    "plain": {},
    "zstdless": {"compression": "none", "use_dictionary": False, "data_page_version": "2.0"},
    "indexed": {"write_page_index": True, "data_page_size": 2000, "row_group_size": 10},
    "groups": {"row_group_size": 1},
    "brotli": {"compression": "brotli"},
    "gzip": {"compression": "gzip", "data_page_version": "2.0"},
    "zstd": {"compression": "zstd"},
    "old-lists": {"use_compliant_nested_type": False},
}.items():
    (folder / name).mkdir()
    pq.write_table(table, folder / name / "train.parquet", **settings)

# Older `datasets` stored a sequence of dicts as a dict of lists.
columns = pa.struct([(field.name, pa.list_(field.type)) for field in struct])
dicts = [{**row, "turns": {field.name: [each[field.name] for each in row["turns"]] for field in struct}} for row in rows]
(folder / "dict").mkdir()
pq.write_table(
    pa.Table.from_pylist(dicts, pa.schema([*list(schema)[:3], ("turns", columns)])), folder / "dict" / "train.parquet"
)
