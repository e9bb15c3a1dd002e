from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support import jobs
from understudy_payload.collate import prompt_batch
from understudy_payload.conversation import Encoder
from understudy_payload.modeling import apply_checkpoint, load_extractor, load_omni, load_thinker, load_tokenizer
from understudy_payload.shards import Shards
from understudy_payload.files import hash_file


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory, model: Path, trained: Path) -> Path:
    folder = tmp_path_factory.mktemp("merged")
    value = jobs.manifest("merge", folder, model, checkpoint=str(trained / "output/checkpoint-8"))
    assert jobs.run_here(folder, value) == 0
    return folder


def test_the_merged_folder_is_a_whole_model(merged: Path, model: Path) -> None:
    output = merged / "output"
    done = json.loads((output / "_DONE.json").read_text())
    assert set(done["files"]) == {path.name for path in model.iterdir()}
    for name in set(done["files"]) - {"model.safetensors"}:
        assert hash_file(output / name) == hash_file(model / name)
    assert jobs.events(merged)[-1]["type"] == "finished"


def test_only_projections_of_the_language_model_changed(merged: Path, model: Path, trained: Path) -> None:
    before, after = load_file(model / "model.safetensors"), load_file(merged / "output/model.safetensors")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert len(changed) == 14 and all(name.startswith("thinker.model.layers.") for name in changed)
    reference = apply_checkpoint(load_thinker(model, torch.float32), trained / "output/checkpoint-8").state_dict()
    for name in changed:
        assert torch.equal(after[name], reference[name.removeprefix("thinker.")])


def test_it_says_what_the_adapter_says(merged: Path, model: Path, data: dict, trained: Path) -> None:
    from peft import PeftModel

    tokenizer = load_tokenizer(model)
    dialogue = Shards([data["dev"]])[0]
    clip = dialogue.samples(dialogue.turns[0])
    ids = Encoder(tokenizer, jobs.PREAMBLE).prompt(dialogue.system_prompt, [clip], [])
    inputs = prompt_batch([ids], [clip], load_extractor(model), tokenizer.pad_token_id, "left")
    adapter = PeftModel.from_pretrained(load_thinker(model, torch.float32), trained / "output/checkpoint-8").eval()
    whole = load_omni(merged / "output", torch.float32)
    said = [
        speaker.generate(**inputs, max_new_tokens=24, do_sample=False)[0, len(ids) :]
        for speaker in (adapter, whole.thinker)
    ]
    assert said[0].tolist() == said[1].tolist()
    assert set(whole.speaker_map) == {"Chelsie", "Ethan"}


def test_a_full_checkpoint_merges_too(tmp_path: Path, model: Path, data: dict) -> None:
    value = jobs.train_manifest(tmp_path, model, data, mode="full", lora=None, steps=1, learningRate=1e-3)
    assert jobs.run_here(tmp_path, value) == 0
    checkpoint = tmp_path / "output/checkpoint-1"
    merging = jobs.manifest("merge", tmp_path / "merge", model, checkpoint=str(checkpoint))
    assert jobs.run_here(tmp_path / "merge", merging) == 0
    tuned, whole = load_file(checkpoint / "model.safetensors"), load_file(tmp_path / "merge/output/model.safetensors")
    assert all(torch.equal(whole[f"thinker.{name}"], tensor) for name, tensor in tuned.items())


def test_a_request_to_stop(tmp_path: Path, model: Path, trained: Path) -> None:
    (tmp_path / "STOP").touch()
    value = jobs.manifest("merge", tmp_path, model, checkpoint=str(trained / "output/checkpoint-8"))
    assert jobs.run_here(tmp_path, value) == 3
    stopped = jobs.events(tmp_path)[-1]
    assert (stopped["type"], stopped["done"], stopped["total"]) == ("stopped", 0, len(list(model.iterdir())))


def test_a_checkpoint_of_another_base_is_refused(tmp_path: Path, model: Path, copy_of_trained: Path) -> None:
    from safetensors.torch import save_file

    checkpoint = copy_of_trained / "output/checkpoint-8"
    weights = load_file(checkpoint / "adapter_model.safetensors")
    renamed = {name.replace("layers.1.", "layers.7."): tensor for name, tensor in weights.items()}
    save_file(renamed, checkpoint / "adapter_model.safetensors")
    assert jobs.run_here(tmp_path, jobs.manifest("merge", tmp_path, model, checkpoint=str(checkpoint))) == 2
    assert jobs.events(tmp_path, "failed")[0]["code"] == "MERGE_MISFIT"
    assert not (tmp_path / "output/_DONE.json").exists()


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("adapter_config.json", '{"peft_type": "LORA", "use_dora": true}', "ADAPTER_FOREIGN"),
        ("adapter_config.json", "{", "MODEL_UNREADABLE"),
        ("adapter_config.json", None, "MODEL_UNREADABLE"),
        ("_COMPLETE.json", None, "CHECKPOINT_INCOMPLETE"),
        ("_COMPLETE.json", "[]", "CHECKPOINT_INCOMPLETE"),
    ],
)
def test_a_checkpoint_that_is_none(
    name: str, text: str | None, code: str, tmp_path: Path, model: Path, copy_of_trained: Path
) -> None:
    checkpoint = copy_of_trained / "output/checkpoint-8"
    (checkpoint / name).unlink() if text is None else (checkpoint / name).write_text(text)
    folder = tmp_path / "merge"
    assert jobs.run_here(folder, jobs.manifest("merge", folder, model, checkpoint=str(checkpoint))) == 2
    assert jobs.events(folder, "failed")[0]["code"] == code


@pytest.mark.parametrize(
    ("what", "code"), [("spk_dict.pt", "VOICES_MISSING"), ("model.safetensors", "MODEL_INCOMPLETE"), (".", "MODEL_MISSING")]
)
def test_a_base_that_is_not_whole(what: str, code: str, tmp_path: Path, model: Path, trained: Path) -> None:
    base, folder = tmp_path / "base", tmp_path / "merge"
    if what != ".":
        shutil.copytree(model, base)
        (base / what).unlink()
    value = jobs.manifest("merge", folder, base, checkpoint=str(trained / "output/checkpoint-8"))
    assert jobs.run_here(folder, value) == 2
    assert jobs.events(folder, "failed")[0]["code"] == code
    assert not (folder / "output/_DONE.json").exists()
