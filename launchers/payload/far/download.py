"""Fetches the pinned revision of a model from the hub into a folder, then becomes the program after `--`.

    download.py --repository OWNER/NAME --revision R --folder F [--token-folder T] [--umask U] [--group G] [--events FILE]
                {--file BYTES SHA256 PATH}... -- PROGRAM ARGUMENT...

Standard library alone. The token is the file HF_TOKEN in T, or the variable HF_TOKEN: the one is deleted and the other unset
before anything else happens. It is sent to the hub's own host, never to where it redirects. Without --file the hub says what belongs to the revision. A file has its name only when its size
and digest are right; a part goes on where it stopped. Exit 2: the hub says no, or sends something else; 69: it cannot be
reached, or the disk is full (another time may do).
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

ENDPOINT = "https://huggingface.co"
TRIES = 6
CHUNK = 1 << 20
RECORD = ".understudy-download.json"


class Refused(Exception):
    """It will not work another time either."""

    def __init__(self, code, message, hint):
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


class Unreachable(Exception):
    """It may work another time."""


class Redirects(urllib.request.HTTPRedirectHandler):
    """The token goes to the hub's own host only; storage elsewhere has its signature in the address."""

    def redirect_request(self, request, file, code, message, headers, address):
        follow = super().redirect_request(request, file, code, message, headers, address)
        token = request.unredirected_hdrs.get("Authorization")
        same = urllib.parse.urlsplit(request.full_url)[:2] == urllib.parse.urlsplit(address)[:2]
        if follow is not None and token and same:
            follow.add_unredirected_header("Authorization", token)
        return follow


class Hub:
    def __init__(self, endpoint, token):
        self.endpoint = endpoint.rstrip("/")
        self.token = token
        self.opener = urllib.request.build_opener(Redirects)

    def open(self, path, headers=()):
        request = urllib.request.Request(self.endpoint + path, headers=dict(headers, **{"User-Agent": "understudy"}))
        if self.token:
            request.add_unredirected_header("Authorization", "Bearer " + self.token)
        return self.opener.open(request, timeout=60)


def main(argv):
    wanted, program = parse(argv)
    hub = Hub(os.environ.pop("HF_ENDPOINT", "") or ENDPOINT, take_token(wanted["token_folder"]))
    before = os.umask(int(wanted["umask"], 8))
    try:
        fetch(hub, wanted)
    except Refused as problem:
        refuse(wanted, problem)
        return 2
    except (Unreachable, OSError) as problem:
        full = isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT)
        say("the disk is full: %s" % wanted["folder"] if full else str(problem))
        return 69
    os.umask(before)
    if not program:
        return 0
    sys.stdout.flush()
    os.execvp(program[0], program)


def parse(argv):
    wanted = {"umask": "022", "group": "", "events": "", "token_folder": "", "files": []}
    rest = list(argv)
    while rest and rest[0] != "--":
        name = rest.pop(0)
        if name == "--file":
            size, digest, path = rest.pop(0), rest.pop(0), rest.pop(0)
            wanted["files"].append({"path": path, "bytes": int(size), "sha256": None if digest == "-" else digest})
        else:
            wanted[name[2:].replace("-", "_")] = rest.pop(0)
    return wanted, rest[1:]


def take_token(folder):
    token = os.environ.pop("HF_TOKEN", "")
    if folder:
        try:
            with open(os.path.join(folder, "HF_TOKEN")) as source:
                token = source.read().strip()
        except OSError:
            pass
        shutil.rmtree(folder, ignore_errors=True)
    return token


def fetch(hub, wanted):
    folder = wanted["folder"]
    os.makedirs(folder, exist_ok=True)
    share(folder, wanted["group"])
    with open(os.path.join(folder, ".understudy-download.lock"), "a") as lock:
        try:
            # Somebody else may be at it; the system lets go when they die.
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            say("note: this filesystem has no locks; two downloads at once would only cost time")
        files = listed(hub, wanted)
        missing = [file for file in files if size_of(file["path"]) != file["bytes"]]
        if missing:
            say("fetching %d of %d files, %d bytes" % (len(missing), len(files), sum(f["bytes"] for f in missing)))
            with ThreadPoolExecutor(4) as pool:
                for _ in pool.map(lambda file: fetch_file(hub, wanted, file), missing):
                    pass
        write_record(folder, wanted, files)
        say("the model %s at %s is there" % (wanted["repository"], wanted["revision"]))


def listed(hub, wanted):
    if wanted["files"]:
        return wanted["files"]
    known = read_record(wanted)
    if known is not None:
        return known
    path = "/api/models/%s/revision/%s?blobs=true" % (wanted["repository"], urllib.parse.quote(wanted["revision"], ""))
    answer = persist(lambda: json.loads(hub.open(path).read().decode("utf-8")), "the list of files", wanted)
    files = []
    for item in answer.get("siblings", []):
        name = item["rfilename"]
        if os.path.isabs(name) or ".." in name.split("/"):
            raise Refused("MODEL_MISMATCH", "the hub names a file outside its folder: %s" % name, "do not use this repository")
        large = item.get("lfs") or {}
        files.append({
            "path": os.path.join(wanted["folder"], name),
            "bytes": large.get("size", item.get("size")),
            "sha256": large.get("sha256"),
            "blob": item.get("blobId"),
        })
    if not any(os.path.basename(file["path"]) == "config.json" for file in files):
        raise Refused("MODEL_MISMATCH", "%s has no config.json at %s" % (wanted["repository"], wanted["revision"]), "name a model")
    return files


def fetch_file(hub, wanted, file):
    path = file["path"]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    name = os.path.relpath(path, wanted["folder"])
    address = "/%s/resolve/%s/%s" % (
        wanted["repository"], urllib.parse.quote(wanted["revision"], ""), urllib.parse.quote(name))
    part = path + ".part"
    persist(lambda: fill(hub, address, part, file), name, wanted, lambda: size_of(part))
    share(part, wanted["group"])
    os.replace(part, path)
    say("fetched %s" % name)


def fill(hub, address, part, file):
    """Completes a part and checks it. What is not right is thrown away."""
    have = size_of(part) or 0
    if have > file["bytes"]:
        os.remove(part)
        have = 0
    if have < file["bytes"] or have == 0:
        try:
            answer = hub.open(address, {"Range": "bytes=%d-" % have} if have else {})
        except urllib.error.HTTPError as problem:
            if problem.code == 416:
                os.remove(part)
            raise
        with answer, open(part, "ab") as out:
            begins = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
            if have and not (answer.status == 206 and begins and int(begins.group(1)) == have):
                # It sends everything again.
                out.truncate(0)
            for chunk in iter(lambda: answer.read(CHUNK), b""):
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
    found = size_of(part)
    if found < file["bytes"]:
        raise ConnectionError("it ended after %d of %d bytes" % (found, file["bytes"]))
    wrong = mismatch(part, file)
    if wrong:
        os.remove(part)
        raise ValueError(wrong)


def mismatch(path, file):
    if size_of(path) != file["bytes"]:
        return "it has %d bytes; %d are expected" % (size_of(path), file["bytes"])
    if file["sha256"]:
        wanted, digest = file["sha256"], hashlib.sha256()
    elif file.get("blob"):
        wanted, digest = file["blob"], hashlib.sha1(b"blob %d\0" % file["bytes"])
    else:
        return None
    with open(path, "rb") as source:
        for chunk in iter(lambda: source.read(CHUNK), b""):
            digest.update(chunk)
    found = digest.hexdigest()
    return None if found == wanted else "it has the digest %s; %s is expected" % (found, wanted)


def persist(action, what, wanted, progress=lambda: None):
    """Tries again what may heal. What grows between two tries has all its tries again."""
    left, before, wrong = TRIES, progress(), 0
    while True:
        try:
            return action()
        except urllib.error.HTTPError as problem:
            reason, wait = status(problem, what, wanted), problem.headers.get("Retry-After", "")
        except ValueError as problem:
            wrong += 1
            reason, wait = str(problem), ""
            if wrong == 3:
                raise Refused("MODEL_MISMATCH", "%s from the hub is not what it should be: %s" % (what, reason),
                              "the mirror in HF_ENDPOINT may be broken") from None
        except OSError as problem:
            if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
                raise
            reason, wait = str(problem), ""
        except Exception as problem:  # http.client raises errors of its own for a torn answer
            reason, wait = "%s: %s" % (type(problem).__name__, problem), ""
        now = progress()
        left = TRIES - 1 if now and now != before else left - 1
        before = now
        if left == 0:
            raise Unreachable("%s could not be fetched from the hub: %s" % (what, reason))
        pause = min(int(wait), 60) if wait.isdigit() else min(2 ** (TRIES - left - 1), 30)
        say("%s: %s; again in %d s" % (what, reason, pause))
        time.sleep(pause * float(os.environ.get("UNDERSTUDY_HUB_PAUSE", "1")))


def status(problem, what, wanted):
    code = problem.code
    if code in (401, 403):
        raise Refused("MODEL_DENIED", "the hub does not give %s of %s (%d)" % (what, wanted["repository"], code),
                      "accept its licence there, and set HF_TOKEN where the run is started") from None
    if code == 404:
        raise Refused("MODEL_MISSING", "the hub has no %s of %s at %s" % (what, wanted["repository"], wanted["revision"]),
                      "check model and revision in the recipe") from None
    return "the hub answers %d" % code


def write_record(folder, wanted, files):
    path = os.path.join(folder, RECORD)
    record = {
        "schemaVersion": 1,
        "repository": wanted["repository"],
        "revision": wanted["revision"],
        "files": [dict(file, path=os.path.relpath(file["path"], folder)) for file in files],
    }
    with open(path + ".new", "w") as out:
        json.dump(record, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(path + ".new", path)


def read_record(wanted):
    try:
        with open(os.path.join(wanted["folder"], RECORD)) as source:
            record = json.load(source)
        if (record["repository"], record["revision"]) != (wanted["repository"], wanted["revision"]):
            return None
        return [dict(file, path=os.path.join(wanted["folder"], file["path"])) for file in record["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def share(path, group):
    if not group:
        return
    try:
        import grp
        os.chown(path, -1, grp.getgrnam(group).gr_gid)
    except (KeyError, OSError):
        say("note: %s could not be given to the group %s" % (path, group))


def size_of(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def refuse(wanted, problem):
    say("%s: %s" % (problem.code, problem.message))
    if not wanted["events"]:
        return
    attempt = re.search(r"-a(\d+)\.", os.environ.get("UNDERSTUDY_JOB", ""))
    event = {
        "v": 1,
        "at": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        "attempt": int(attempt.group(1)) if attempt else 0,
        "type": "failed",
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
    }
    with open(wanted["events"], "a") as out:
        out.write(json.dumps(event) + "\n")


def say(text):
    print("model: " + text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
