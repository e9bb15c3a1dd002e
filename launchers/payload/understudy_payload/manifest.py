"""The job manifest, one frozen dataclass per kind, and how it is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .errors import ManifestError
from .schema import parse
from .sections import Attempt, Data, Decoding, MeasureTask, Model, Paths, Prompt, Scoring, Task, Training
from .stopping import persist_reading


@dataclass(frozen=True)
class Manifest:
    """What every kind has."""

    schema_version: Literal[1]
    kind: Literal["train", "infer", "score", "measure", "merge"]
    run: str
    attempt: Attempt
    paths: Paths
    device: Literal["auto", "cpu", "cuda"]
    model: Model
    prompt: Prompt


@dataclass(frozen=True)
class TrainManifest(Manifest):
    data: Data
    training: Training


@dataclass(frozen=True)
class ScoreManifest(Manifest):
    tasks: tuple[Task, ...]
    scoring: Scoring


@dataclass(frozen=True)
class InferManifest(Manifest):
    tasks: tuple[Task, ...]
    decoding: Decoding


@dataclass(frozen=True)
class MeasureManifest(Manifest):
    tasks: tuple[MeasureTask, ...]


@dataclass(frozen=True)
class MergeManifest(Manifest):
    checkpoint: Path


KINDS: dict[str, type[Manifest]] = {
    "train": TrainManifest,
    "infer": InferManifest,
    "score": ScoreManifest,
    "measure": MeasureManifest,
    "merge": MergeManifest,
}


def parse_manifest(value: Any, kind: str) -> Manifest:
    """Raise ManifestError with every problem at once, a `kind` other than the command's included."""
    problems: list[str] = []
    manifest = parse(KINDS[kind], value, "", problems)
    if isinstance(value, dict) and value.get("kind") in KINDS and value["kind"] != kind:
        problems.append(f'kind: the command is "{kind}", the manifest says "{value["kind"]}"')
    if problems:
        raise ManifestError(problems)
    return manifest


def read_manifest(path: Path, kind: str) -> Manifest:
    """Read a manifest file; ManifestError when it is missing, no JSON or does not fit, StorageLost when its disk is."""
    try:
        value = json.loads(persist_reading(str(path), lambda: path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ManifestError([f"{path}: cannot be read: {error}"]) from error
    return parse_manifest(value, kind)
