"""Stands in for the payload: does what the manifest's `script` says, a list of [word, argument...]."""

import json
import os
import signal
import subprocess
import sys
import time

with open(sys.argv[sys.argv.index("--manifest") + 1], encoding="utf-8") as file:
    manifest = json.load(file)
paths = manifest["paths"]


def wait_for(path):
    # Nothing started by a test lives for ever, whatever becomes of the test.
    for _ in range(6000):
        if os.path.exists(path):
            return
        time.sleep(0.01)
    sys.exit(99)


def step(word, *arguments):
    if word == "say":
        print(arguments[0], flush=True)
    elif word == "torn":
        print(arguments[0], end="", flush=True)
    elif word == "event":
        with open(paths["events"], "a", encoding="utf-8") as events:
            events.write(json.dumps(arguments[0]) + "\n")
    elif word == "write":
        path = os.path.join(paths["output"], arguments[0])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as output:
            output.write(arguments[1])
    elif word == "wait":
        wait_for(os.path.join(os.path.dirname(paths["events"]), arguments[0]))
    elif word == "wait-stop":
        wait_for(paths["stop"])
    elif word == "environment":
        print(json.dumps(dict(os.environ)), flush=True)
    elif word == "ignore-term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif word == "worker":
        # Like a launcher's: a session of its own, outliving a killed parent.
        child = subprocess.Popen(["sleep", "60"], start_new_session=True)
        print(f"worker {child.pid}", flush=True)
    elif word == "die":
        os.kill(os.getpid(), arguments[0])
    elif word == "exit":
        sys.exit(arguments[0])


for line in manifest["script"]:
    step(*line)
