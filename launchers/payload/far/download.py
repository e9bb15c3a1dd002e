"""Fetches the pinned revision of a model from the hub into a folder, then becomes the program after `--`.

    download.py --repository OWNER/NAME --revision R --folder F [--token-folder T] [--umask U] [--group G] [--events FILE]
                {--file BYTES SHA256 PATH}... -- PROGRAM ARGUMENT...

Standard library alone. The token is the file HF_TOKEN in T, or the variable HF_TOKEN: the one is deleted and the other unset
before anything else happens. It is sent to the hub's own host, never to where it redirects. Without --file the hub says what
belongs to the revision. A file has its name only when its size and digest are right; a part goes on where it stopped. Exit 2: the
hub says no, or sends something else; 69: it cannot be reached, or the disk is full (another time may do).
"""

import json
import os
import re
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request

# The payload's folder is shared and its files are known by digest.
sys.dont_write_bytecode = True

import fetching  # noqa: E402
import records  # noqa: E402
from fetching import CHUNK, Again, Refused  # noqa: E402

ENDPOINT = "https://huggingface.co"
SUBJECT = "model"


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
    wanted, program = fetching.parse(argv)
    wanted.setdefault("token_folder", "")
    hub = Hub(os.environ.pop("HF_ENDPOINT", "") or ENDPOINT, take_token(wanted["token_folder"]))
    return fetching.run(wanted, program, lambda: fetch(hub, wanted), SUBJECT)


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
    folder, pin = wanted["folder"], (wanted["repository"], wanted["revision"])
    if not fetching.all_there(wanted["files"] or records.read_record(folder, *pin)):
        fetch_missing(hub, wanted, folder, pin)
    fetching.say("the model %s at %s is there" % pin)


def fetch_missing(hub, wanted, folder, pin):
    with fetching.locked([folder], wanted, SUBJECT):
        files = wanted["files"] or records.read_record(folder, *pin) or listed(hub, wanted)
        fetching.fetch_all(files, lambda file: fetch_file(hub, wanted, file), SUBJECT)
        records.write_record(folder, *pin, files)


def listed(hub, wanted):
    path = "/api/models/%s/revision/%s?blobs=true" % (wanted["repository"], urllib.parse.quote(wanted["revision"], ""))
    ask = lambda: json.loads(told(lambda: hub.open(path), "the list of files", wanted).read().decode("utf-8"))
    answer = fetching.persist(ask, "the list of files", "the hub")
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
    name = os.path.relpath(file["path"], wanted["folder"])
    address = "/%s/resolve/%s/%s" % (
        wanted["repository"], urllib.parse.quote(wanted["revision"], ""), urllib.parse.quote(name))

    def fill(part):
        fetching.fill_part(part, file, lambda have: chunks_from(hub, address, part, have, name, wanted))

    fetching.fetch_file(file, wanted, name, fill, SUBJECT, "the hub")


def chunks_from(hub, address, part, have, name, wanted):
    headers = {"Range": "bytes=%d-" % have} if have else {}
    answer = told(lambda: hub.open(address, headers), name, wanted, lambda: os.remove(part))
    begins = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    # It may send everything again.
    anew = bool(have) and not (answer.status == 206 and begins and int(begins.group(1)) == have)
    return anew, pieces(answer)


def pieces(answer):
    with answer:
        for chunk in iter(lambda: answer.read(CHUNK), b""):
            yield chunk


def told(ask, what, wanted, beyond=lambda: None):
    """What the hub's status codes mean. `beyond`: it has fewer bytes than are here already."""
    try:
        return ask()
    except urllib.error.HTTPError as problem:
        code = problem.code
        if code in (401, 403):
            raise Refused("MODEL_DENIED", "the hub does not give %s of %s (%d)" % (what, wanted["repository"], code),
                          "accept its licence there, and set HF_TOKEN where the run is started") from None
        if code == 404:
            raise Refused("MODEL_MISSING", "the hub has no %s of %s at %s" % (what, wanted["repository"], wanted["revision"]),
                          "check model and revision in the recipe") from None
        if code == 416:
            beyond()
        raise Again("the hub answers %d" % code, problem.headers.get("Retry-After", "") or "") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
