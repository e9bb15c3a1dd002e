"""`measure`: acoustic measures of the answers that `infer` wrote, one row per answer and measure."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from .acoustics import UNITS, Value, measures, missing
from .answer_audio import read_wav
from .dnsmos import Dnsmos, find_weights
from .errors import DataError
from .faults import fault
from .files import exists
from .job import Job
from .manifest import MeasureManifest
from .marker import DONE
from .modeling import pick_device
from .progress import Progress
from .sections import MeasureTask
from .tasks import ResultFile

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
            answers = read_answers(task.answers)
            source = {"answersSha256": answers.sha256}
            results = ResultFile(task.output, "measures.jsonl", job.fence)
            results.made_from(source)
            done = results.done
            results.open()
            if not done:
                _measure_task(task, answers.rows, results, dnsmos, workers, job)
                results.finish(**source)
            instances += len(results.rows)
    job.events.write("finished", instances=instances)


def _workers() -> Executor:
    """A thread per core, each at a clip of its own: clips are too short to be worth splitting between threads."""
    import torch

    # not every system tells which cores a process may use
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(min(cores, MOST_WORKERS), initializer=torch.set_num_threads, initargs=(1,))


def _measure_task(
    task: MeasureTask,
    answers: list[dict[str, Any]],
    results: ResultFile,
    dnsmos: Dnsmos | None,
    workers: Executor,
    job: Job,
) -> None:
    progress = Progress(job, task, "answers", len(answers))
    # rows come in a fixed order, so their number says where to go on
    done, partly = divmod(len(results.rows), len(UNITS))
    while done < len(answers):
        progress.pause(done)
        batch = answers[done : done + ANSWERS_AT_ONCE]
        measured = workers.map(lambda answer: list(_rows(answer, task.answers, dnsmos)), batch)
        results.append([row for rows in measured for row in rows][partly:])
        done, partly = done + len(batch), 0
        progress.report(done)


class Answers(NamedTuple):
    """Rows of `answers.jsonl` and the digest of that file, which names the audio by its digests."""

    rows: list[dict[str, Any]]
    sha256: str


def read_answers(folder: Path) -> Answers:
    """Rows of a finished `infer` task; DataError when it is not finished or not readable."""
    if not exists(folder / DONE):
        raise DataError("ANSWERS_UNFINISHED", f"{folder} has no _DONE.json", "finish infer first")
    try:
        data = (folder / "answers.jsonl").read_bytes()
        rows = [json.loads(line) for line in data.decode().split("\n") if line]
        return Answers(rows, hashlib.sha256(data).hexdigest())
    except (OSError, ValueError) as error:
        if fault(error):
            raise
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
    except (FileNotFoundError, NotADirectoryError):
        return missing("audio_missing")
    if hashlib.sha256(data).hexdigest() != answer["sha256"]:
        return missing("audio_changed")
    try:
        samples = read_wav(data)
    except ValueError:
        return missing("audio_unreadable")
    return measures(samples, answer["text"], dnsmos)
