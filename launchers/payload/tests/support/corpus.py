"""A small corpus in the layout of the packed dataset: short dialogues of roles that talk in recognisable ways."""

from __future__ import annotations

import hashlib
import io
import wave
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet

ROLES = {
    "pirate": ("en", "Arr, the {0} sails at {1}, matey!"),
    "butler": ("en", "Very good, sir. The {0} is served at {1}."),
    "robot": ("en", "Affirmative. {0} detected at {1}. Proceeding."),
    "poet": ("en", "O gentle {0}, at {1} thou art a dream."),
    "monk": ("zh", "阿弥陀佛，{0}在{1}。"),
    "general": ("zh", "将士听令，{0}于{1}出发！"),
    "teacher": ("zh", "同学们，{0}在{1}开始。"),
    "merchant": ("zh", "客官，{0}{1}便宜卖啦。"),
}
WORDS = {
    "en": (("ship", "tea", "moon", "storm", "rose"), ("dawn", "noon", "dusk", "night")),
    "zh": (("船", "茶", "月", "风", "花"), ("清晨", "正午", "黄昏", "夜里")),
}
CARDS = {"en": "You are the {0}. Stay in character.", "zh": "你是{0}。请保持角色。"}

AUDIO = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
TURN = pyarrow.struct([
    ("index", pyarrow.int32()),
    ("user_text", pyarrow.string()),
    ("user_audio", AUDIO),
    ("role_text", pyarrow.string()),
    ("role_audio_cosyvoice2", AUDIO),
    ("role_audio_f5_tts", AUDIO),
    ("role_audio_e2_tts", AUDIO),
])
SCHEMA = pyarrow.schema([
    *((name, pyarrow.string()) for name in (
        "id", "role_id", "role_name", "language", "role_source", "kind", "category", "system_prompt", "context",
    )),
    ("num_turns", pyarrow.int32()),
    ("audio_seconds", pyarrow.float32()),
    ("turns", pyarrow.list_(TURN)),
    ("content_sha256", pyarrow.string()),
])  # fmt: skip


def wav(samples: numpy.ndarray) -> bytes:
    """int16 samples at 16 kHz as WAV bytes with the canonical header."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(samples.astype("<i2").tobytes())
    return buffer.getvalue()


def clip(seed: int, seconds: float) -> bytes:
    """A chord of three tones that the seed picks, with a little noise."""
    random = numpy.random.default_rng(seed)
    time = numpy.arange(int(16_000 * seconds)) / 16_000
    tones = sum(numpy.sin(2 * numpy.pi * pitch * time) for pitch in random.uniform(150, 3_500, 3))
    return wav(tones * 5_000 + random.standard_normal(len(time)) * 100)


def dialogue(
    name: str, role: str, texts: list[str], *, language: str, card: str, seed: int, seconds: float = 0.5
) -> dict[str, Any]:
    """One row. Each text is a role turn; the user's turns are clips of the seed."""
    turns = [
        {
            "index": index,
            "user_text": f"question {seed} {index}",
            "user_audio": {"bytes": clip(seed * 100 + index, seconds), "path": None},
            "role_text": text,
            "role_audio_cosyvoice2": {"bytes": b"RIFF", "path": None},
        }
        for index, text in enumerate(texts)
    ]
    return {
        "id": name, "role_id": role, "role_name": role.title(), "language": language, "role_source": "made",
        "kind": "single" if len(texts) == 1 else "multi", "category": None, "system_prompt": card, "context": "",
        "num_turns": len(texts), "audio_seconds": seconds * len(texts), "turns": turns,
        "content_sha256": hashlib.sha256(name.encode()).hexdigest(),
    }  # fmt: skip


def greenroom(per_role: int, start: int = 0) -> list[dict[str, Any]]:
    """`per_role` dialogues of each of eight roles, one or two turns; `start` makes splits differ."""
    rows = []
    for number, (role, (language, sentence)) in enumerate(ROLES.items()):
        things, times = WORDS[language]
        for at in range(start, start + per_role):
            texts = [
                sentence.format(things[(at + turn) % len(things)], times[(at * 3 + number + turn) % len(times)])
                for turn in range(1 + at % 2)
            ]
            card = CARDS[language].format(role)
            seed = number * 1_000 + at
            rows.append(dialogue(f"{role}-{at:03}", role, texts, language=language, card=card, seed=seed))
    order = numpy.random.default_rng(start).permutation(len(rows))
    return [rows[at] for at in order]


def write_shard(path: Path, rows: list[dict[str, Any]], group: int = 20) -> Path:
    """Write rows to a Parquet shard in row groups of this many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, SCHEMA), path, row_group_size=group)
    return path
