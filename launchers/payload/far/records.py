"""What was fetched into a folder, so that the next one need not ask for the list again. Standard library alone."""

import json
import os

RECORD = ".understudy-download.json"


def write_record(folder, repository, revision, files):
    path = os.path.join(folder, RECORD)
    record = {
        "schemaVersion": 1,
        "repository": repository,
        "revision": revision,
        "files": [dict(file, path=os.path.relpath(file["path"], folder)) for file in files],
    }
    with open(path + ".new", "w") as out:
        json.dump(record, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(path + ".new", path)


def read_record(folder, repository, revision):
    try:
        with open(os.path.join(folder, RECORD)) as source:
            record = json.load(source)
        if (record["repository"], record["revision"]) != (repository, revision):
            return None
        return [dict(file, path=os.path.join(folder, file["path"])) for file in record["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
