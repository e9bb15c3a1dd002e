"""python -m understudy_payload.embed: sentence vectors of a local model, one JSON line in, one out.

CONTRACT.md, "Embedding", describes the lines. The end of standard input ends the program.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from .errors import CheckpointError, Crashed, DataError, PayloadError
from .faults import fault

MOST_TEXTS = 4096  # of one request
LONGEST_LINE = 64_000_000  # bytes


def main(arguments: list[str] | None = None) -> int:
    """Answer requests until there are no more. 0, or the exit code of the error that was the last line."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    # Ctrl-C reaches the whole group; the one who asks decides, and ends the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = _take_standard_output()
    try:
        for reply in answers(sys.stdin.buffer, options):
            _write(replies, reply)
        return 0
    except BrokenPipeError:  # nobody waits for it any more
        return 1
    except Exception as error:  # the boundary: whatever it is, the one who asks must learn of it
        if not isinstance(error, PayloadError):
            traceback.print_exc()
        known = error if isinstance(error, PayloadError) else fault(error) or Crashed(f"{type(error).__name__}: {error}")
        _write(replies, {"error": {"code": known.code, "message": str(known), "hint": known.hint}})
        return known.exit_code


def answers(requests: BinaryIO, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One reply per request, in their order. The model is loaded for the first."""
    encoder = None
    while line := requests.readline(LONGEST_LINE):
        identity, texts = parse_request(line)
        if encoder is None:
            encoder = _load(options)
        vectors = encoder.encode(texts)
        yield {"id": identity, "vectors": base64.b64encode(vectors.astype("<f4").tobytes()).decode()}


def parse_request(line: bytes) -> tuple[int, list[str]]:
    """DataError EMBED_REQUEST_INVALID for a line that is no request or too large a one."""
    try:
        request = json.loads(line)
        identity, texts = request["id"], request["texts"]
    except (ValueError, KeyError, TypeError) as error:
        raise _bad(f"a line is no request: {type(error).__name__}: {error}") from error
    if set(request) != {"id", "texts"} or not isinstance(identity, int) or not isinstance(texts, list):
        raise _bad("a request has an id and texts and nothing else")
    if not all(isinstance(text, str) for text in texts):
        raise _bad(f"request {identity} holds a text that is none")
    if not 0 < len(texts) <= MOST_TEXTS:
        raise _bad(f"request {identity} has {len(texts)} texts; 1 to {MOST_TEXTS} are answered")
    for index, text in enumerate(texts):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise _bad(f"text {index} of request {identity} holds half of a surrogate pair")
    return identity, texts


def _load(options: argparse.Namespace) -> Any:
    # torch and transformers take seconds, so a wrong request is told before
    from .embed_model import TextEncoder

    try:
        return TextEncoder(
            options.model,
            pooling=options.pooling,
            max_tokens=options.max_tokens,
            lower_case=options.lower_case,
            device=options.device,
            threads=options.threads,
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        if (known := fault(error)) is not None:
            raise known from error
        message = f"{options.model} cannot be loaded: {type(error).__name__}: {error}"
        raise CheckpointError("EMBEDDING_MODEL_INVALID", message, "stage the model again") from error


def _bad(message: str) -> DataError:
    return DataError("EMBED_REQUEST_INVALID", message)


def _take_standard_output() -> BinaryIO:
    """Standard output for replies alone: what a library prints goes to standard error from here on."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def _write(replies: BinaryIO, reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply).encode() + b"\n")
    replies.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="understudy_payload.embed", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder of a transformer and its tokenizer")
    parser.add_argument("--pooling", choices=("mean", "cls"), required=True)
    parser.add_argument("--max-tokens", type=int, required=True, help="longer texts are cut here")
    parser.add_argument("--lower-case", action="store_true", help="before the tokenizer")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", type=int, default=1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
