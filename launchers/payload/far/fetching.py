"""What all ways of fetching inputs have in common: parts that go on where they stopped, digests, retries, and words for people.

Standard library alone. A file that is fetched has its name only when its size and digest are right; one that is there already counts
by its size. Where all are there nothing is written, not even a lock: a cache may belong to somebody else.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

TRIES = 6
CHUNK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT)


class Refused(Exception):
    """It will not work another time either."""

    def __init__(self, code, message, hint):
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


class Unreachable(Exception):
    """It may work another time."""


class Again(Exception):
    """Worth another try now; `wait` seconds as the server says, or nothing."""

    def __init__(self, reason, wait=""):
        super().__init__(reason)
        self.wait = wait


def parse(argv):
    """`--name value` pairs and `--file BYTES SHA256 PATH [MORE]`; what stands after `--` is the program."""
    wanted = {"umask": "022", "group": "", "events": "", "files": []}
    rest = list(argv)
    while rest and rest[0] != "--":
        name = rest.pop(0)
        if name in ("--file", "--object"):
            size, digest, path = rest.pop(0), rest.pop(0), rest.pop(0)
            file = {"path": path, "bytes": int(size), "sha256": None if digest == "-" else digest}
            if name == "--object":
                file["address"] = rest.pop(0)
            wanted["files"].append(file)
        else:
            wanted[name[2:].replace("-", "_")] = rest.pop(0)
    return wanted, rest[1:]


def run(wanted, program, fetch, subject):
    """Fetches, then becomes the program. Exit 2: refused; 69: another time may do."""
    before = os.umask(int(wanted["umask"], 8))
    try:
        fetch()
    except Refused as problem:
        refuse(wanted, problem, subject)
        return 2
    except PermissionError as problem:
        refuse(wanted, Refused(
            "%s_NOT_WRITABLE" % subject.upper(),
            "%s cannot be written, and not everything is there: %s" % (problem.filename or "a folder", problem.strerror),
            "it belongs to somebody else: agree on umask and group in the profile, or choose another folder",
        ), subject)
        return 2
    except (Unreachable, OSError) as problem:
        full = isinstance(problem, OSError) and problem.errno in FULL
        say("the disk is full: %s" % (problem.filename or wanted.get("folder", "")) if full else str(problem), subject)
        return 69
    os.umask(before)
    if not program:
        return 0
    sys.stdout.flush()
    os.execvp(program[0], program)


def fetch_all(files, fetch_one, subject):
    """Every file that is not there with its size, several at once."""
    missing = [file for file in files if size_of(file["path"]) != file["bytes"]]
    if missing:
        say("fetching %d of %d files, %d bytes" % (len(missing), len(files), sum(f["bytes"] for f in missing)), subject)
        with ThreadPoolExecutor(4) as pool:
            for _ in pool.map(fetch_one, missing):
                pass


def all_there(files):
    """True when every file that is known has its size; False when none is known."""
    return bool(files) and all(size_of(file["path"]) == file["bytes"] for file in files)


@contextmanager
def locked(folders, wanted, subject):
    """One such process at a time in these folders, which are made. The system lets go when somebody dies."""
    with ExitStack() as stack:
        for folder in sorted(set(folders)):
            os.makedirs(folder, exist_ok=True)
            share(folder, wanted["group"], subject)
            lock = stack.enter_context(open(os.path.join(folder, ".understudy-download.lock"), "a"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError:
                say("note: this filesystem has no locks; two downloads at once would only cost time", subject)
        yield


def fetch_file(file, wanted, name, fill, subject, place):
    """`fill(part)` completes a part and checks it; only then the file has its name."""
    path = file["path"]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = path + ".part"
    persist(lambda: fill(part), name, place, lambda: size_of(part), subject)
    share(part, wanted["group"], subject)
    os.replace(part, path)
    say("fetched %s" % name, subject)


def fill_part(part, file, chunks_from):
    """`chunks_from(have)` gives whether it begins anew, and the bytes. What is not right is thrown away."""
    have = size_of(part) or 0
    if have > file["bytes"]:
        os.remove(part)
        have = 0
    if have < file["bytes"] or have == 0:
        anew, chunks = chunks_from(have)
        with open(part, "ab") as out:
            if anew:
                out.truncate(0)
            for chunk in chunks:
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
    found = size_of(part)
    if found < file["bytes"]:
        raise Again("it ended after %d of %d bytes" % (found, file["bytes"]))
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


def persist(action, what, place, progress=lambda: None, subject="model"):
    """Tries again what may heal. What grows between two tries has all its tries again."""
    left, before, wrong = TRIES, progress(), 0
    while True:
        try:
            return action()
        except (Refused, Unreachable):
            raise
        except Again as problem:
            reason, wait = str(problem), problem.wait
        except ValueError as problem:
            wrong += 1
            reason, wait = str(problem), ""
            if wrong == 3:
                raise Refused("%s_MISMATCH" % subject.upper(), "%s from %s is not what it should be: %s" % (what, place, reason),
                              "what lies there may be another file of that name, or a broken mirror") from None
        except OSError as problem:
            if problem.errno in FULL + (errno.EACCES, errno.EROFS):
                raise
            reason, wait = str(problem), ""
        except Exception as problem:  # http.client raises errors of its own for a torn answer
            reason, wait = "%s: %s" % (type(problem).__name__, problem), ""
        now = progress()
        left = TRIES - 1 if now and now != before else left - 1
        before = now
        if left == 0:
            raise Unreachable("%s could not be fetched from %s: %s" % (what, place, reason))
        pause = min(int(wait), 60) if wait.isdigit() else min(2 ** (TRIES - left - 1), 30)
        say("%s: %s; again in %d s" % (what, reason, pause), subject)
        time.sleep(pause * float(os.environ.get("UNDERSTUDY_HUB_PAUSE", "1")))


def share(path, group, subject="model"):
    if not group:
        return
    try:
        import grp
        os.chown(path, -1, grp.getgrnam(group).gr_gid)
    except (KeyError, OSError):
        say("note: %s could not be given to the group %s" % (path, group), subject)


def size_of(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def refuse(wanted, problem, subject):
    say("%s: %s" % (problem.code, problem.message), subject)
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


def say(text, subject="model"):
    print("%s: %s" % (subject, text), flush=True)
