"""Sentence vectors: the loading code of the Chinese model on a tiny random BERT, and the lines of `embed`."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from support import jobs

from understudy_payload.embed import parse_request
from understudy_payload.embed_model import TextEncoder, batches
from understudy_payload.errors import CheckpointError, DataError

CHARACTERS = "你好世界我是李云龙打仗剑来去看什么的了吗"
DIMENSION = 32


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as BERT-like sentence models are published: weights, configuration, WordPiece vocabulary."""
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CHARACTERS, *"abcdefgh", *(f"##{c}" for c in "abcdefgh")]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(5)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=DIMENSION,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def encoder(folder: Path, **changes: Any) -> TextEncoder:
    settings: dict[str, Any] = {"pooling": "mean", "max_tokens": 40, "lower_case": False, "device": "cpu", "threads": 1}
    return TextEncoder(folder, **{**settings, **changes})


def plainly(folder: Path, text: str, pooling: str, max_tokens: int) -> numpy.ndarray:
    """The same by hand: one text, no padding."""
    from transformers import BertModel, BertTokenizer

    ids = BertTokenizer.from_pretrained(folder)(text, truncation=True, max_length=max_tokens, return_tensors="pt")
    with torch.no_grad():
        states = BertModel.from_pretrained(folder).eval()(**ids).last_hidden_state[0]
    return (states[0] if pooling == "cls" else states.mean(0)).numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("max_tokens", [6, 40])
def test_vectors_are_those_of_plain_torch(bert: Path, pooling: str, max_tokens: int) -> None:
    texts = ["你好世界", "我是李云龙", "你好" * 30, "abc", ""]
    vectors = encoder(bert, pooling=pooling, max_tokens=max_tokens).encode(texts)
    assert vectors.dtype == numpy.float32 and vectors.shape == (5, DIMENSION)
    for text, vector in zip(texts, vectors, strict=True):
        assert numpy.abs(vector - plainly(bert, text, pooling, max_tokens)).max() < 1e-5
    assert not numpy.allclose(vectors[0], vectors[1])


def test_a_vector_does_not_depend_on_its_neighbours(bert: Path) -> None:
    texts = ["你好世界", "我是李云龙打仗", "你好" * 12, "去", "看什么" * 5] * 9
    model = encoder(bert)
    together = model.encode(texts)
    assert numpy.array_equal(together, numpy.concatenate([model.encode([text]) for text in texts]))
    assert numpy.array_equal(together, model.encode(texts[::-1])[::-1])


def test_spaces_around_a_text_and_case_are_left_out_as_told(bert: Path) -> None:
    model = encoder(bert, lower_case=True)
    assert numpy.array_equal(model.encode(["  ABC\n"]), model.encode(["abc"]))


def test_batches_hold_one_padded_length_and_few_tokens() -> None:
    lengths = [1, 16, 17, 3, 33, 16, 40]
    found = list(batches(lengths, 32))
    assert found == [([0, 1], 16), ([3, 5], 16), ([2], 32), ([4], 48), ([6], 48)]


def test_a_folder_that_is_no_whole_model_is_told(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="40 positions, but texts are to be cut at 64"):
        encoder(bert, max_tokens=64)
    for name in ("config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        if (bert / name).exists():
            (tmp_path / name).write_bytes((bert / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes((bert / "model.safetensors").read_bytes()[:-9])
    with pytest.raises(CheckpointError) as failure:
        encoder(tmp_path)
    assert failure.value.code == "MODEL_INCOMPLETE"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "is no request"),
        (b"[1]\n", "is no request"),
        (b'{"id": 1}\n', "is no request"),
        (b'{"id": 1, "texts": ["a"], "more": 1}\n', "nothing else"),
        (b'{"id": "1", "texts": ["a"]}\n', "nothing else"),
        (b'{"id": 1, "texts": [1]}\n', "holds a text that is none"),
        (b'{"id": 1, "texts": []}\n', "has 0 texts"),
        (b'{"id": 1, "texts": ["a", "\\ud83d"]}\n', "text 1 of request 1 holds half of a surrogate pair"),
        (b'{"id": 1, "texts": ["\xff"]}\n', "is no request: UnicodeDecodeError"),
    ],
)
def test_requests_that_are_none(line: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_request(line)


def start(bert: Path, *more: str) -> subprocess.Popen[bytes]:
    arguments = ["--model", str(bert), "--pooling", "mean", "--max-tokens", "40", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "understudy_payload.embed", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=jobs.environment(),
    )


def test_lines_in_lines_out_and_the_end_of_the_input_is_the_end(bert: Path) -> None:
    requests = [{"id": 4, "texts": ["你好", "世界"]}, {"id": 5, "texts": ["你好"]}]
    process = start(bert)
    out, said = process.communicate("".join(json.dumps(each) + "\n" for each in requests).encode(), timeout=60)
    assert process.returncode == 0, said
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["id"], second["id"]) == (4, 5)
    vectors = numpy.frombuffer(base64.b64decode(first["vectors"]), "<f4").reshape(2, DIMENSION)
    assert numpy.array_equal(vectors, encoder(bert).encode(["你好", "世界"]))
    assert base64.b64decode(second["vectors"]) == vectors[0].tobytes()


def test_an_error_is_the_last_line(tmp_path: Path) -> None:
    process = start(tmp_path / "nowhere")
    out, said = process.communicate(b'{"id": 1, "texts": ["a"]}\n', timeout=60)
    error = json.loads(out)["error"]
    assert (process.returncode, error["code"]) == (2, "EMBEDDING_MODEL_INVALID"), said
    assert "nowhere cannot be loaded" in error["message"]
