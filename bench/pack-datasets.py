"""The job of bench/pack.ts with Hugging Face datasets: from_generator with Audio features, then to_parquet.

Usage: python pack-datasets.py MANIFEST OUTPUT CACHE plain|full|same
plain: files as they are. full: each also decoded, measured and hashed, as our pack does it. same: rows shuffled and the
written files hashed too, which is all that our pack does but for its checks of texts, its splits and its lock.
"""

import hashlib
import json
import os
import sys
import types
import wave
from io import BytesIO

manifest, output, cache, job = sys.argv[1:]
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_CACHE"] = cache

import numpy as np  # noqa: E402
from datasets import Audio, Dataset, Features, List, Value  # noqa: E402

try:
    import torchcodec.encoders  # noqa: F401
except Exception:
    # Audio features import it before they store the bytes of a file, and then leave it alone.
    stub = types.ModuleType("torchcodec.encoders")
    stub.AudioEncoder = None
    sys.modules["torchcodec"] = types.ModuleType("torchcodec")
    sys.modules["torchcodec.encoders"] = stub

audio = Audio(sampling_rate=16000)
string = Value("string")
features = Features(
    {
        "role_id": string,
        "system_prompt": string,
        "context": string,
        "turns": List({"user_text": string, "user_audio": audio, "role_text": string, "role_audio": audio}),
    }
)
folder = os.path.dirname(manifest)
seen = {"clips": 0, "bytes": 0}


def measured(data):
    with wave.open(BytesIO(data)) as file:
        if file.getsampwidth() != 2 or file.getnchannels() != 1:
            raise ValueError("another form")
        pcm = file.readframes(file.getnframes())
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.int32)
    size = np.abs(samples)
    whole = len(samples) // 320 * 320
    power = np.square(samples[:whole].astype(np.float64)).reshape(-1, 320).mean(axis=1)
    quiet = (power < 32768**2 * 10**-5).mean()
    clipped = (size >= 32767).mean()
    if size.max() == 0:
        raise ValueError("silence")
    return quiet, clipped, hashlib.sha256(pcm).hexdigest()


def clip(path):
    with open(os.path.join(folder, path), "rb") as file:
        data = file.read()
    if job != "plain":
        measured(data)
    seen["clips"] += 1
    seen["bytes"] += len(data)
    return {"bytes": data, "path": path}


def rows(path):
    with open(path, encoding="utf8") as file:
        for line in file:
            record = json.loads(line)
            yield {
                "role_id": record["role_id"],
                "system_prompt": record["system_prompt"],
                "context": record["context"],
                "turns": [
                    {
                        "user_text": turn["user_text"],
                        "user_audio": clip(turn["user_audio"]),
                        "role_text": turn["role_text"],
                        "role_audio": clip(turn["role_audio"]),
                    }
                    for turn in record["turns"]
                ],
            }


dataset = Dataset.from_generator(rows, features=features, gen_kwargs={"path": manifest})
if job == "same":
    dataset = dataset.shuffle(seed=20)
dataset.to_parquet(output)
with open(output, "rb") as file:
    if job == "same":
        hashlib.file_digest(file, "sha256")
    os.fsync(file.fileno())
print(json.dumps({"rows": len(dataset), "clips": seen["clips"], "bytes": seen["bytes"]}))
