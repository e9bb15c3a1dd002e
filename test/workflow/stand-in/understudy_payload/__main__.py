"""Stands in for the payload: keeps its contract with files, computes nothing. $HOME/behaviour.json says what goes wrong."""

import hashlib
import json
import os
import signal
import struct
import sys
import time

HOME = os.environ["HOME"]


def read(path, otherwise):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return otherwise


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".tmp", path)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def log(name, *words):
    with open(os.path.join(HOME, name), "a", encoding="utf-8") as file:
        file.write(" ".join(map(str, words)) + "\n")


def once(name):
    """True the first time only, over all attempts."""
    try:
        os.mkdir(os.path.join(HOME, name))
        return True
    except FileExistsError:
        return False


if sys.argv[1] == "tiny-model":
    folder, seed = sys.argv[2], sys.argv[4]
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "config.json"), seed)
    log("models.log", folder)
    print(digest(f"tiny {seed}"))
    sys.exit(0)

manifest = read(sys.argv[sys.argv.index("--manifest") + 1], None)
behaviour = read(os.path.join(HOME, "behaviour.json"), {}).get(manifest["kind"], {})
paths = manifest["paths"]
attempt = manifest["attempt"]["number"]


def event(type, **fields):
    line = {"v": 1, "at": "2026-01-31T10:00:00Z", "attempt": attempt, "type": type, **fields}
    with open(paths["events"], "a", encoding="utf-8") as events:
        events.write(json.dumps(line) + "\n")


def wait(name):
    # Nothing started by a test lives for ever, whatever becomes of the test.
    for _ in range(12000):
        if os.path.exists(os.path.join(HOME, name)) or stopped():
            return
        time.sleep(0.01)
    sys.exit(99)


def stopped():
    return os.path.exists(paths["stop"])


def misbehave(at):
    if behaviour.get("waitAt") == at:
        wait("go")
    if behaviour.get("killAt") == at and (behaviour.get("always") or once(f"killed-{manifest['kind']}-{at}")):
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour.get("exitAt") == at and (behaviour.get("always") or once(f"exited-{at}")):
        if "failed" in behaviour:
            event("failed", **behaviour["failed"])
        sys.exit(behaviour["code"])


def save(step):
    folder = os.path.join(paths["output"], f"checkpoint-{step}")
    if os.path.exists(os.path.join(folder, "_COMPLETE.json")):
        log("repeated.log", step)
    os.makedirs(folder, exist_ok=True)
    values = struct.pack("<f", behaviour.get("weights", step))
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, len(values)]}}).encode()
    data = struct.pack("<Q", len(header)) + header + values
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(data)
    misbehave(f"save-{step}")
    marker = {
        "schemaVersion": 1,
        "step": step,
        "epoch": 1.0,
        "kind": "full",
        "worldSize": 1,
        "trainLoss": 1.0,
        "evalLoss": step if behaviour.get("rising") else 9 - step,
        "files": {"model.safetensors": {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}},
    }
    write(os.path.join(folder, "_COMPLETE.json"), json.dumps(marker))
    event("checkpoint", step=step, checkpoint=f"checkpoint-{step}")


def complete():
    names = os.listdir(paths["output"]) if os.path.isdir(paths["output"]) else []
    steps = [int(name.split("-")[1]) for name in names if name.startswith("checkpoint-")]
    return sorted(s for s in steps if os.path.exists(f"{paths['output']}/checkpoint-{s}/_COMPLETE.json"))


def train():
    steps, every = manifest["training"]["steps"], manifest["training"]["saveEverySteps"]
    first = complete()[-1] if complete() else 0
    if first:
        event("resumed", step=first, checkpoint=f"checkpoint-{first}")
    for step in range(first + 1, steps + 1):
        misbehave(step)
        log("steps.log", attempt, step)
        print(f"attempt {attempt} step {step}", flush=True)
        event("step", step=step, epoch=1.0, loss=10.0 - step, learningRate=0.1, gradNorm=1.0, secondsPerStep=0.1)
        last = step == steps
        if step % every == 0 or last:
            event("eval", step=step, split="dev", loss=9.0 - step, tokens=10)
            if not (last and behaviour.get("skipFinal")):
                save(step)
        if stopped() and not last:
            save(step)
            event("stopped", step=step, reason="stop-file")
            sys.exit(3)
    event("finished", step=steps)


def row(kind, task, instance):
    checkpoint = task["system"]["checkpoint"]
    weights = digest(open(f"{checkpoint}/model.safetensors", "rb").read().hex()) if checkpoint else "base"
    number = int(digest(f"{weights} {instance['dialogue']} {instance['turn']}")[:6], 16) / 1e6
    if kind == "score":
        return {**instance, "tokens": 7, "nll": number}
    if kind == "infer":
        failure = {"code": "NO_AUDIO", "message": "none"}
        words = {"text": str(number), "textTokens": 3, "latencySeconds": 0.1}
        return {**instance, **words, "audio": None, "sha256": None, "seconds": 0, "failure": failure}
    return {**instance, "measure": "duration", "value": None, "unit": "s", "reason": "no_audio"}


def tasks(kind):
    name = {"score": "scores.jsonl", "infer": "answers.jsonl", "measure": "measures.jsonl"}[kind]
    instances = read(os.path.join(HOME, "instances.json"), [])
    for number, task in enumerate(manifest["tasks"]):
        folder = task["output"]
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(os.path.join(folder, "_DONE.json")):
            continue
        misbehave(f"task-{number}")
        if stopped():
            event("stopped", reason="stop-file")
            sys.exit(3)
        log("tasks.log", kind, folder)
        wanted = [i for i in instances if i["role"] in task["suite"]["roles"]]
        kept = wanted[: behaviour.get("rows", len(wanted))]
        text = "".join(json.dumps(row(kind, task, instance)) + "\n" for instance in kept)
        write(os.path.join(folder, name), text)
        done = {"schemaVersion": 1, "rows": len(kept), "sha256": digest(text)}
        if kind == "measure":
            done["answersSha256"] = digest(open(os.path.join(task["answers"], "answers.jsonl"), encoding="utf-8").read())
        write(os.path.join(folder, "_DONE.json"), json.dumps(done))
    event("finished", instances=len(instances))


log("starts.log", manifest["run"], attempt)
event("started", kind=manifest["kind"], pid=os.getpid(), host="h", device="cpu", worldSize=1, versions={"python": "3"})
misbehave("start")
train() if manifest["kind"] == "train" else tasks(manifest["kind"])
misbehave("end")
sys.exit(behaviour.get("exit", 0))
