"""`measure`: acoustic measures of the answers that `infer` wrote, one row per answer and measure."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .acoustics import UNITS, Value, measures, missing
from .answer_audio import read_wav
from .dnsmos import Dnsmos, find_weights
from .errors import DataError, Stopped
from .job import Job
from .manifest import MeasureManifest
from .modeling import pick_device
from .sections import MeasureTask
from .tasks import ResultFile

PROGRESS_SECONDS = 2.0
ANSWERS_AT_ONCE = 32  # between writes and looks at the STOP file
MOST_WORKERS = 16
IDENTITY = ("dialogue", "role", "language", "kind", "turn")


def measure(manifest: MeasureManifest, job: Job) -> None:
    """Finish every task that is not done. Stopped when asked to, between writes."""
    device = pick_device(manifest.device)
    job.fence.check()
    job.started(device.type)
    weights = find_weights()
    dnsmos = Dnsmos(weights, device) if weights else None
    instances = 0
    with _workers() as workers:
        for task in manifest.tasks:
            results = ResultFile(task.output, "measures.jsonl", job.fence)
            done = results.done
            results.open()
            if not done:
                _measure_task(task, results, dnsmos, workers, job)
                results.finish()
            instances += len(results.rows)
    job.events.write("finished", instances=instances)


def _workers() -> Executor:
    """A thread per core, each at a clip of its own: clips are too short to be worth splitting between threads."""
    import torch

    # not every system tells which cores a process may use
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(min(cores, MOST_WORKERS), initializer=torch.set_num_threads, initargs=(1,))


def _measure_task(
    task: MeasureTask, results: ResultFile, dnsmos: Dnsmos | None, workers: Executor, job: Job
) -> None:
    answers = read_answers(task.answers)
    reported = 0.0
    # rows come in a fixed order, so their number says where to go on
    done, partly = divmod(len(results.rows), len(UNITS))
    while done < len(answers):
        if reason := job.stop.reason():
            raise Stopped(reason, done)
        batch = answers[done : done + ANSWERS_AT_ONCE]
        measured = workers.map(lambda answer: list(_rows(answer, task.answers, dnsmos)), batch)
        results.append([row for rows in measured for row in rows][partly:])
        done, partly = done + len(batch), 0
        if time.monotonic() - reported > PROGRESS_SECONDS or done == len(answers):
            reported = time.monotonic()
            job.events.write(
                "progress",
                done=done,
                total=len(answers),
                unit="answers",
                system=task.system.id,
                suite=task.suite.id,
            )


def read_answers(folder: Path) -> list[dict[str, Any]]:
    """Rows of a finished `infer` task; DataError when it is not finished or not readable."""
    if not (folder / "_DONE.json").exists():
        raise DataError("ANSWERS_UNFINISHED", f"{folder} has no _DONE.json", "finish infer first")
    try:
        lines = (folder / "answers.jsonl").read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line]
    except (OSError, ValueError) as error:
        raise DataError("ANSWERS_UNREADABLE", f"{folder}: {error}", "run infer again") from error


def _rows(answer: dict[str, Any], folder: Path, dnsmos: Dnsmos | None) -> Iterator[dict[str, Any]]:
    for name, found in _values(answer, folder, dnsmos).items():
        yield {
            **{key: answer[key] for key in IDENTITY},
            "measure": name,
            "value": found.value,
            "unit": UNITS[name],
            "reason": found.reason,
        }


def _values(answer: dict[str, Any], folder: Path, dnsmos: Dnsmos | None) -> dict[str, Value]:
    """An answer whose audio is not there, or not the one that was answered with, has no measures."""
    if answer["audio"] is None:
        return missing("no_audio")
    try:
        data = (folder / answer["audio"]).read_bytes()
    except OSError:
        return missing("audio_missing")
    if hashlib.sha256(data).hexdigest() != answer["sha256"]:
        return missing("audio_changed")
    try:
        samples = read_wav(data)
    except ValueError:
        return missing("audio_unreadable")
    return measures(samples, answer["text"], dnsmos)
