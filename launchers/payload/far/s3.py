"""Fetches inputs from S3 with the machine's own credentials, then becomes the program after `--`.

    s3.py [--endpoint URL] [--region R] [--prefix s3://BUCKET/FOLDER/ --folder F] [--umask U] [--group G] [--events FILE]
          {--object BYTES SHA256 PATH ADDRESS}... -- PROGRAM ARGUMENT...

boto3 of this Python, or the aws command: whichever is there. With --prefix everything below it goes into F: of these files the sizes
alone are known. A file that is fetched has its name only when its size and digest are right; a part goes on where it stopped. The program does not
get to see the variables of AWS. Exit 2: S3 says no, or has something else; 69: it cannot be reached, or the disk is full (another time
may do).
"""

import os
import sys

# The payload's folder is shared and its files are known by digest.
sys.dont_write_bytecode = True

import fetching  # noqa: E402
import records  # noqa: E402
import s3_client  # noqa: E402
from fetching import Again, Refused  # noqa: E402

SUBJECT = "s3"


def main(argv):
    wanted, program = fetching.parse(argv)
    return fetching.run(wanted, program, lambda: fetch(wanted), SUBJECT)


def fetch(wanted):
    prefix, folder = wanted.get("prefix", ""), wanted.get("folder", "")
    recorded = records.read_record(folder, prefix, prefix) if prefix else []
    if recorded is None or not fetching.all_there(wanted["files"] + recorded):
        fetch_missing(wanted, prefix, folder)
    forget()
    fetching.say("everything is there", SUBJECT)


def fetch_missing(wanted, prefix, folder):
    try:
        name, client = told(lambda: s3_client.connect(wanted.get("endpoint", ""), wanted.get("region", "")), "S3")
    except s3_client.NoTool as problem:
        raise Refused("S3_TOOL_MISSING", str(problem), "install one of them there, or load it in setup") from None
    fetching.say("reading with %s %s" % (name, client.version), SUBJECT)
    files = list(wanted["files"])
    folders = [os.path.dirname(file["path"]) for file in files] + ([folder] if prefix else [])
    with fetching.locked(folders, wanted, SUBJECT):
        found = listed(client, prefix, folder) if prefix else []
        fetching.fetch_all(files + found, lambda file: fetch_file(client, wanted, file), SUBJECT)
        if prefix:
            records.write_record(folder, prefix, prefix, found)


def forget():
    """The program needs none of them."""
    for variable in [one for one in os.environ if one.startswith("AWS_")]:
        del os.environ[variable]


def listed(client, prefix, folder):
    known = records.read_record(folder, prefix, prefix)
    if known is not None:
        return known
    objects = fetching.persist(lambda: told(lambda: client.list(prefix), prefix), "the list of files", prefix, subject=SUBJECT)
    files = []
    for name, size in objects:
        if name == "" or name.endswith("/"):
            continue
        if os.path.isabs(name) or ".." in name.split("/"):
            raise Refused("S3_MISMATCH", "%s has a file outside of its folder: %s" % (prefix, name), "do not use this folder")
        files.append({"path": os.path.join(folder, name), "bytes": size, "sha256": None, "address": prefix + name})
    if not any(os.path.basename(file["path"]) == "config.json" for file in files):
        raise Refused("S3_MISSING", "there is no config.json in %s" % prefix, "put the weights of that revision there")
    return files


def fetch_file(client, wanted, file):
    address = file["address"]

    def chunks(have):
        found = told(lambda: client.size(address), address)
        if found != file["bytes"]:
            raise ValueError("it has %d bytes; %d are expected" % (found, file["bytes"]))
        return False, guarded(client.read(address, have, file["bytes"]), address)

    fill = lambda part: fetching.fill_part(part, file, chunks)
    fetching.fetch_file(file, wanted, address, fill, SUBJECT, "S3")


def guarded(chunks, address):
    while True:
        try:
            yield told(lambda: next(chunks), address)
        except StopIteration:
            return


def told(ask, what):
    try:
        return ask()
    except s3_client.S3Error as problem:
        if problem.code == "denied":
            raise Refused("S3_DENIED", "S3 does not give %s: %s" % (what, problem),
                          "give the machine that runs the job credentials for it: a role, or ~/.aws there") from None
        if problem.code == "missing":
            raise Refused("S3_MISSING", "S3 has no %s: %s" % (what, problem), "put it there, or correct s3 in the profile") from None
        raise Again(str(problem)) from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
