"""Reads from S3 with whatever the machine has: boto3, or the aws command. Its own credentials, never ours.

    python3 - check [--endpoint URL] [--region R] ADDRESS...      (this file on standard input)

`check` says with what S3 is read (`tool boto3 V`, `tool aws V`, `tool none`), and for each address, of an object or with a slash at its
end of a folder: `yes BYTES ADDRESS`, or `no CODE ADDRESS WORDS`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CHUNK = 1 << 20
# One call of the command; what has arrived before a loss of the connection is at most this much less.
PIECE = 64 << 20

DENIED = re.compile(r"AccessDenied|Forbidden|\b403\b|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|TokenRefreshRequired"
                    r"|InvalidToken|credentials|AllAccessDisabled|AuthorizationHeaderMalformed", re.I)
MISSING = re.compile(r"NoSuchKey|NoSuchBucket|Not Found|\b404\b", re.I)


class S3Error(Exception):
    """`code`: denied, missing, or failed (another time may do)."""

    def __init__(self, words):
        super().__init__(words)
        self.code = "denied" if DENIED.search(words) else "missing" if MISSING.search(words) else "failed"


class NoTool(Exception):
    pass


def split(address):
    match = re.match(r"s3://([^/]+)/(.*)$", address)
    if not match:
        raise ValueError("%s is no address of S3" % address)
    return match.group(1), match.group(2)


class Boto:
    def __init__(self, endpoint, region):
        import boto3
        from botocore.config import Config
        self.version = boto3.__version__
        config = Config(retries={"max_attempts": 3}, connect_timeout=15, read_timeout=60)
        given = {"region_name": region} if region else {}
        # A region is part of a signature; a server of one's own does not care which.
        if endpoint and not region and not os.environ.get("AWS_DEFAULT_REGION"):
            given = {"region_name": "us-east-1"}
        self.client = boto3.client("s3", endpoint_url=endpoint or None, config=config, **given)

    def size(self, address):
        bucket, key = split(address)
        return self._ask(lambda: self.client.head_object(Bucket=bucket, Key=key)["ContentLength"])

    def list(self, prefix, most=None):
        bucket, key = split(prefix)
        given = {"MaxKeys": most} if most else {}
        found, token = [], {}
        while True:
            page = self._ask(lambda: self.client.list_objects_v2(Bucket=bucket, Prefix=key, **dict(given, **token)))
            found += [(item["Key"][len(key):], item["Size"]) for item in page.get("Contents", [])]
            if most or not page.get("IsTruncated"):
                return found
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def read(self, address, start, size):
        """Bytes from `start` on, in chunks."""
        bucket, key = split(address)
        given = {"Range": "bytes=%d-" % start} if start else {}
        body = self._ask(lambda: self.client.get_object(Bucket=bucket, Key=key, **given))["Body"]
        try:
            for chunk in body.iter_chunks(CHUNK):
                yield chunk
        except Exception as problem:
            raise S3Error("%s: %s" % (type(problem).__name__, problem)) from None

    def _ask(self, action):
        try:
            return action()
        except Exception as problem:
            raise S3Error("%s: %s" % (type(problem).__name__, problem)) from None


class Command:
    def __init__(self, endpoint, region):
        self.options = (["--endpoint-url", endpoint] if endpoint else []) + (["--region", region] if region else [])
        said = subprocess.run(["aws", "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.version = said.stdout.decode("utf-8", "replace").strip().split(" ")[0].replace("aws-cli/", "")
        if said.returncode != 0:
            raise NoTool("the aws command does not run: %s" % self.version)

    def size(self, address):
        bucket, key = split(address)
        return json.loads(self._ask("head-object", "--bucket", bucket, "--key", key))["ContentLength"]

    def list(self, prefix, most=None):
        bucket, key = split(prefix)
        given = ["--max-items", str(most)] if most else []
        said = self._ask("list-objects-v2", "--bucket", bucket, "--prefix", key, *given)
        items = json.loads(said or "{}").get("Contents") or []
        return [(item["Key"][len(key):], item["Size"]) for item in items]

    def read(self, address, start, size):
        bucket, key = split(address)
        with tempfile.TemporaryDirectory(prefix="understudy-s3-") as scratch:
            piece = os.path.join(scratch, "piece")
            while start < size:
                end = min(start + PIECE, size)
                self._ask("get-object", "--bucket", bucket, "--key", key, "--range", "bytes=%d-%d" % (start, end - 1), piece)
                with open(piece, "rb") as source:
                    for chunk in iter(lambda: source.read(CHUNK), b""):
                        start += len(chunk)
                        yield chunk
                if start < end:
                    raise S3Error("it ended after %d of %d bytes" % (start, size))

    def _ask(self, *words):
        # No pager, and plain JSON, whatever the account has set up.
        environment = dict(os.environ, AWS_PAGER="", AWS_DEFAULT_OUTPUT="json")
        said = subprocess.run(["aws", "s3api", *words, "--output", "json", *self.options], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if said.returncode != 0:
            words = said.stderr.decode("utf-8", "replace").strip().split("\n")
            raise S3Error(words[-1] or "the aws command ended with %d" % said.returncode)
        return said.stdout.decode("utf-8")


def connect(endpoint="", region=""):
    """boto3 where this Python has it, else the aws command. NoTool when there is neither."""
    try:
        return "boto3", Boto(endpoint, region)
    except ImportError:
        pass
    except Exception as problem:
        raise S3Error("%s: %s" % (type(problem).__name__, problem)) from None
    if shutil.which("aws"):
        return "aws", Command(endpoint, region)
    raise NoTool("neither boto3 (for %s) nor the aws command is there" % sys.executable)


def check(argv):
    options = {"--endpoint": "", "--region": ""}
    while argv and argv[0] in options:
        name = argv.pop(0)
        options[name] = argv.pop(0)
    try:
        name, client = connect(options["--endpoint"], options["--region"])
    except NoTool as problem:
        print("tool none %s" % problem)
        return
    except S3Error as problem:
        print("tool none %s" % problem)
        return
    print("tool %s %s" % (name, client.version))
    for address in argv:
        try:
            if address.endswith("/"):
                found = client.list(address, 1)
                if not found:
                    raise S3Error("Not Found: nothing lies below it")
                print("yes %d %s" % (found[0][1], address))
            else:
                print("yes %d %s" % (client.size(address), address))
        except S3Error as problem:
            print("no %s %s %s" % (problem.code, address, " ".join(str(problem).split())))


if __name__ == "__main__" and sys.argv[1:2] == ["check"]:
    check(sys.argv[2:])
    print("end")
