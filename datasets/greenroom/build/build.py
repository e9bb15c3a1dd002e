#!/usr/bin/env python3
"""Regenerate the greenroom corpus from build/corpus.json.

Needs: Python 3.9+, numpy, and the program espeak-ng (1.51, Debian package espeak-ng).
numpy does integer work only, so its version does not matter; another espeak-ng
version may pronounce or round differently and so change the clips.

    python3 build/build.py                 write everything (and remove stale files)
    python3 build/build.py --check         write nothing; list files that differ, exit 1 if any
    python3 build/build.py --text [--check]   text files only; needs neither espeak-ng nor numpy
    python3 build/build.py --out DIR       write elsewhere
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
GENERATED = ("role_metadata", "train", "test_data", "roles.json")

# ---------------------------------------------------------------- text


def dump(value):
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def script_block(block):
    return "\n".join(["scene: " + block["scene"]] + [f"{who}: {text}" for who, text in block["lines"]])


def profile_text(corpus, role):
    head = [line.format(name=role["displayName"], work=role["work"]) for line in corpus["profileLines"]]
    joiner = "" if role["language"] == "zh" else " "
    return "\n".join(head + [joiner.join(role["profile"])]) + "\n"


def plan(corpus):
    """Return ({path: bytes}, {path: (voice, text)}): the text files and the clips to speak."""
    texts, clips = {}, {}
    meta = "role_metadata"
    texts["roles.json"] = dump([
        {"stem": r["stem"], "slug": r["slug"], "displayName": r["displayName"], "language": r["language"],
         "source": corpus["name"], "heldOut": r["heldOut"]} for r in corpus["roles"]])
    texts[f"{meta}/role_voices/audios_text.json"] = dump({r["stem"]: r["reference"] for r in corpus["roles"]})

    for r in corpus["roles"]:
        stem, lang = r["stem"], r["language"]
        user_voice, own_voice = corpus["userVoice"][lang], r["voice"]
        profile = profile_text(corpus, r)
        texts[f"{meta}/role_profiles/{stem}_profile.txt"] = profile.encode("utf-8")
        texts[f"{meta}/scripts/{stem}_scripts.txt"] = (
            "\n\n".join(script_block(b) for b in r["script"]) + "\n").encode("utf-8")
        clips[f"{meta}/role_voices/{stem}.wav"] = (own_voice, r["reference"])

        def with_context(item, turns):
            out = {"dialogue": turns}
            if item["script"] is not None:
                context = script_block(r["script"][item["script"]])
                out["context"] = context
                out["system_prompt"] = (
                    profile + corpus["promptSentence"][lang] + "\n" + corpus["marker"] + "\n" + context)
            return out

        for mode, items in r["train"].items():
            rows = []
            for i, item in enumerate(items):
                turns = []
                for j, (user, reply) in enumerate(item["turns"]):
                    base = f"train/{mode}_speech/{stem}/{stem}_{i}_{j}"
                    clips[f"{base}_user.wav"] = (user_voice, user)
                    clips[f"{base}_role.wav"] = (own_voice, reply)
                    turns.append({"user": user, "role": reply, "user_speech_path": f"{base}_user.wav",
                                  "role_speech_path": f"{base}_role.wav"})
                rows.append(with_context(item, turns))
            texts[f"train/{mode}/{stem}.json"] = dump(rows)

        for mode, items in r["test"].items():
            rows = []
            for k, item in enumerate(items, 1):
                turns = []
                for t, (user, reply) in enumerate(item["turns"]):
                    base = f"test_data/{mode}_turn_speech/{stem}/{k}_{stem}_0_{t}"
                    clips[f"{base}_user.wav"] = (user_voice, user)
                    turn = {"user": user, "role": reply, "user_speech_path": f"{base}_user.wav"}
                    for v in corpus["referenceVariants"]:
                        path = f"{base}_role{v['slot']}.wav"
                        clips[path] = (vary(own_voice, v), reply)
                        turn[f"role_speech_path{v['slot']}"] = path
                    turns.append(turn)
                row = with_context(item, turns)
                row["category"] = corpus["categories"][item["category"]]
                rows.append(row)
            texts[f"test_data/{mode}_turn/{stem}.json"] = dump(rows)
    return texts, clips


def vary(voice, variant):
    name = voice["voice"]
    if variant["variant"]:
        name = name.split("+")[0] + "+" + variant["variant"]
    return {"voice": name, "pitch": max(0, min(99, voice["pitch"] + variant["pitch"])),
            "speed": voice["speed"] + variant["speed"]}


# ---------------------------------------------------------------- speech

SOURCE_RATE, RATE = 22050, 16000
UP, DOWN = 320, 441          # 22050 * 320 / 441 = 16000
REACH = 32                   # source samples on each side of an output sample
CUTOFF = 7300.0              # Hz, -6 dB
PEAK = 14000                 # peak of a clip
STEP = 32                    # samples are multiples of this: keeps the files small
FLOOR = 300                  # |sample| of espeak output below which it counts as silence
GAP = SOURCE_RATE * 50 // 1000    # longest silence kept inside a clip
EDGE = SOURCE_RATE * 15 // 1000   # silence kept at each end


def kernel():
    """Integer polyphase low-pass, one row per output phase; rows sum to about 2**16."""
    import numpy as np
    rows = []
    for phase in range(UP):
        row = []
        for k in range(-REACH + 1, REACH + 1):
            x = k - phase / UP                       # distance in source samples
            w = 2 * CUTOFF / SOURCE_RATE
            s = w if x == 0 else math.sin(math.pi * w * x) / (math.pi * x)
            window = 0.5 + 0.5 * math.cos(math.pi * x / REACH) if abs(x) < REACH else 0.0
            row.append(round(s * window * 65536))
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def tighten(x):
    """Trim both ends and shorten long inner pauses."""
    import numpy as np
    loud = np.flatnonzero(np.abs(x) > FLOOR)
    if len(loud) == 0:
        raise ValueError("silent clip")
    parts, start = [], max(0, loud[0] - EDGE)
    for a, b in zip(loud[:-1], loud[1:]):
        if b - a > GAP:
            parts.append(x[start:a + GAP // 2])
            start = b - GAP // 2
    parts.append(x[start:loud[-1] + EDGE])
    return np.concatenate(parts)


def resample(x, taps):
    import numpy as np
    count = len(x) * UP // DOWN
    at = np.arange(count, dtype=np.int64) * DOWN
    whole, phase = at // UP, at % UP
    padded = np.concatenate([np.zeros(REACH, np.int64), x, np.zeros(REACH + 1, np.int64)])
    index = whole[:, None] + np.arange(1, 2 * REACH + 1)[None, :]
    return (padded[index] * taps[phase]).sum(axis=1) >> 16


def finish(x):
    import numpy as np
    peak = int(np.abs(x).max())
    x = x * PEAK // peak
    return ((x + STEP // 2) // STEP * STEP).astype("<i2")


def canonical_wav(pcm):
    data = pcm.tobytes()
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack(
        "<IHHIIHH", 16, 1, 1, RATE, RATE * 2, 2, 16) + b"data" + struct.pack("<I", len(data)) + data


def speak(voice, text, taps):
    import numpy as np
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "a.wav")
        subprocess.run(["espeak-ng", "-b", "1", "-v", voice["voice"], "-p", str(voice["pitch"]), "-s", str(voice["speed"]),
                        "-w", out, "--", text], check=True, stderr=subprocess.DEVNULL)
        with wave.open(out, "rb") as f:
            if (f.getframerate(), f.getnchannels(), f.getsampwidth()) != (SOURCE_RATE, 1, 2):
                raise ValueError("unexpected espeak-ng output format")
            raw = f.readframes(f.getnframes())
    x = np.frombuffer(raw, dtype="<i2").astype(np.int64)
    return canonical_wav(finish(resample(tighten(x), taps)))


def speak_all(clips):
    taps = kernel()
    jobs = {}
    for path, (voice, text) in clips.items():
        jobs.setdefault((voice["voice"], voice["pitch"], voice["speed"], text), []).append(path)

    def one(key):
        return speak({"voice": key[0], "pitch": key[1], "speed": key[2]}, key[3], taps)

    result = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for paths, data in zip(jobs.values(), pool.map(one, jobs)):
            for path in paths:
                result[path] = data
    return result


# ---------------------------------------------------------------- main


def existing(root, text_only):
    found = set()
    for name in GENERATED:
        top = root / name
        files = [top] if top.is_file() else top.rglob("*")
        found |= {p.relative_to(root).as_posix() for p in files if p.is_file()}
    return {p for p in found if not (text_only and p.endswith(".wav"))}


def main():
    ap = argparse.ArgumentParser(description="Regenerate the greenroom corpus from build/corpus.json.")
    ap.add_argument("--check", action="store_true", help="compare only; list differing files")
    ap.add_argument("--text", action="store_true", help="text files only, no speech")
    ap.add_argument("--out", type=Path, default=HERE.parent, help="corpus root (default: the folder above build/)")
    args = ap.parse_args()

    corpus = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
    files, clips = plan(corpus)
    if not args.text:
        files.update(speak_all(clips))

    stale = existing(args.out, args.text) - set(files)
    if args.check:
        bad = [f"extra    {p}" for p in stale]
        for p, data in files.items():
            target = args.out / p
            if not target.is_file():
                bad.append(f"missing  {p}")
            elif target.read_bytes() != data:
                bad.append(f"differs  {p}")
        for line in sorted(bad):
            print(line)
        print(f"{len(files)} files checked, {len(bad)} problems")
        return 1 if bad else 0

    for p, data in files.items():
        target = args.out / p
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for p in sorted(stale):
        (args.out / p).unlink()
        print(f"removed  {p}")
        if not any((args.out / p).parent.iterdir()):
            (args.out / p).parent.rmdir()
    print(f"{len(files)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
