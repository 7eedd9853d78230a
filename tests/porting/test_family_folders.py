"""Folders of ``transformers`` that are damaged, or contradict themselves: each refused in a sentence, or read right."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from porting.family_models import CLASSIFIERS, ROWS, folder_of, model_of, tensors_of, with_classifier, with_tensors
from porting.small_model import refused, spoil
from transformer_mb.porting.files.sources import read_source

FIRST = "model.encoder.layers.0.fc1.weight"
# By name: a family, what config.json is made to say, and the words of the refusal.
CONFIGS = {
    "a kin's type": ("bart", {"model_type": "mbart", "architectures": None}, "missing encoder.layer_norm.weight"),
    "another's class": ("bart", {"architectures": ["T5ForConditionalGeneration"]}, "architectures must name one of Bart"),
    "a type of no family": ("gpt2", {"model_type": "mamba"}, "its config.json says model_type 'mamba'"),
    "no output though it is not tied": ("bart", {"tie_word_embeddings": False}, "the file holds no lm_head.weight"),
    "another vocabulary": ("bart", {"vocab_size": 12}, r"must have shape \[12, 8\], got \[11, 8\]"),
    "a vocabulary that is none": ("gpt2", {"vocab_size": "many"}, "vocab_size must be a whole number, got 'many'"),
    "heads that do not divide": ("bart", {"encoder_attention_heads": 3}, "not divisible by 3"),
    "two inner widths": ("mbart", {"decoder_ffn_dim": 16}, "decoder_ffn_dim must be 12"),
    "a block too many": ("pegasus", {"encoder_layers": 3}, "missing encoder.layers.2.self_attn.q_proj.weight"),
    "a block too few": ("opt", {"num_hidden_layers": 1}, "unexpected decoder.layers.1"),
    "blocks without end": ("gpt2", {"n_layer": 10**9}, "decoder_num_layers must be at most"),
    "an unknown activation": ("blenderbot", {"activation_function": "mish"}, "activation_function must be one of relu"),
    "fewer positions": ("bart", {"max_position_embeddings": 10}, r"must have shape \[12, 8\], got \[22, 8\]"),
    "padding out of range": ("distilbert", {"pad_token_id": 99}, "pad_id must be from 0 to 10, got 99"),
    "two end tokens": ("gpt2", {"eos_token_id": [2, 3]}, "must be a whole number"),
    "no first token": ("mbart", {"decoder_start_token_id": None}, "decoder_start_token_id must be a whole number, got nothing"),
    "scores by layer": ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx must be False"),
    "scores unscaled": ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights must be True"),
    "two lengths": ("gpt2", {"n_ctx": 10}, "n_ctx must be 20"),
    "OPT-350m's embeddings": ("opt", {"word_embed_proj_dim": 4}, "word_embed_proj_dim must be 8"),
    "OPT-350m's order": ("opt", {"do_layer_norm_before": False}, "do_layer_norm_before must be True"),
    "no biases": ("opt", {"enable_bias": False}, "enable_bias must be True"),
    "more heads of keys": ("llama", {"num_key_value_heads": 2}, r"must have shape \[8, 8\], got \[4, 8\]"),
    "heads of keys that do not divide": ("llama", {"num_key_value_heads": 3}, "num_kv_heads must divide decoder_num_heads = 2"),
    "no number of heads of keys": ("llama", {"num_key_value_heads": "few"}, "num_key_value_heads must be a whole number"),
    "a window that slides": ("mistral", {"sliding_window": 19}, "sliding_window must be None for this family, got 19"),
    "a window that is half a number": ("mistral", {"sliding_window": 20.5}, "sliding_window must be None"),
    "stretched positions": ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "rope_scaling must be None"),
    "stretched positions of release 5": (
        "llama",
        {"rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0}},
        "rope_scaling must be None",
    ),
    "turns of half a head": ("llama", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "rope_scaling must be None"),
    "heads of another width": ("llama", {"head_dim": 6}, r"must have shape \[12, 8\], got \[8, 8\]"),
    "heads that cannot be turned": ("mistral", {"head_dim": 3}, "must be even for rotary positions, got 3"),
    "biases in Llama": ("llama", {"attention_bias": True}, "attention_bias must be False"),
    "a base of no waves": ("llama", {"rope_theta": 0.5}, "rotary_base must be a number above 1, got 0.5"),
    "padding elsewhere": ("roberta", {"pad_token_id": 0}, "pad_token_id must be 1 for this family, got 0"),
    "relative positions": ("xlm_roberta", {"position_embedding_type": "relative_key"}, "must be 'absolute'"),
    "a decoder of its name": ("roberta", {"is_decoder": True}, "is_decoder must be False"),
    "an epsilon that is a word": ("roberta", {"layer_norm_eps": "small"}, "layer_norm_eps must be a number, got 'small'"),
    "a width of none": ("distilbert", {"dim": None}, "dim must be a whole number, got nothing"),
    "a gate that is not there": ("t5", {"feed_forward_proj": "gated-gelu"}, r"missing encoder.block.0.*DenseReluDense.wi_1"),
    "a network of no form": ("mt5", {"feed_forward_proj": "gated-mish"}, "must be 'relu' for this family, got 'gated-mish'"),
    "other buckets": ("t5", {"relative_attention_num_buckets": 16}, r"must have shape \[16, 2\], got \[32, 2\]"),
    "heads of a width of their own": ("t5", {"d_kv": 3}, r"must have shape \[6, 8\], got \[8, 8\]"),
    "layers of their own": ("bart", {"per_layer_config": {"0": {}}}, "per_layer_config must be None"),
}
OTHER = np.full((20, 8), 0.5, np.float32)
# By name: a family, tensors that are changed, and the words of the refusal.
TENSORS = {
    "a tie that is none": (
        "bart",
        lambda own: {"lm_head.weight": own["model.shared.weight"] + 1},
        "tie_word_embeddings is true, but lm_head.weight is not",
    ),
    "two tables though they are one": (
        "bart",
        lambda own: {"model.encoder.embed_tokens.weight": own["model.shared.weight"] + 1},
        "the two embedding tables differ",
    ),
    "a weight the other way round": (
        "bart",
        lambda own: {FIRST: own[FIRST].T.copy()},
        r"must have shape \[12, 8\], got \[8, 12\]",
    ),
    "no table": ("pegasus", lambda own: {"model.shared.weight": None}, "must hold shared.weight or"),
    "learned positions in a family of sinusoids": (
        "pegasus",
        lambda own: {"model.encoder.embed_positions.weight": OTHER},
        "must be the table of sinusoids",
    ),
    "whole numbers": (
        "opt",
        lambda own: {name: array.astype(np.int8) for name, array in own.items()},
        "floating-point numbers",
    ),
    "projections that are not three": (
        "gpt2",
        lambda own: {"transformer.h.0.attn.c_attn.weight": own["transformer.h.0.attn.c_attn.weight"][:, :16].copy()},
        "missing h.0.attn.query.weight",
    ),
    "a mask that looks ahead": (
        "gpt2",
        lambda own: {"transformer.h.0.attn.bias": np.ones((1, 1, 20, 20), np.float32)},
        "must be the causal mask",
    ),
    "OPT-350m's projection": (
        "opt",
        lambda own: {"model.decoder.project_in.weight": np.ones((8, 4), np.float32)},
        "unexpected decoder.project_in.weight",
    ),
    "positions that do not count": (
        "roberta",
        lambda own: {"embeddings.position_ids": np.arange(22)[None, ::-1].copy()},
        "must count from 0",
    ),
    "cross-attention in a decoder alone": (
        "gpt2",
        lambda own: {"transformer.h.0.crossattention.c_proj.weight": np.ones((8, 8), np.float32)},
        "unexpected h.0.crossattention.c_proj.weight",
    ),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_a_config_that_contradicts_is_refused(case, tmp_path):
    name, changes, words = CONFIGS[case]
    spoil(folder_of(name, tmp_path / "folder") / "config.json", **changes)
    refused(words, read_source, tmp_path / "folder", None, {})


@pytest.mark.parametrize("case", TENSORS)
def test_tensors_that_contradict_are_refused(case, tmp_path):
    name, changes, words = TENSORS[case]
    folder = folder_of(name, tmp_path / "folder")
    with_tensors(folder, **changes(tensors_of(folder)))
    refused(words, read_source, folder, None, {})


def test_the_tables_hold_thirty_and_more():
    assert len(CONFIGS) + len(TENSORS) >= 30 and {name for name, *_ in [*CONFIGS.values(), *TENSORS.values()]} >= {
        "bart",
        "gpt2",
    }


@pytest.mark.parametrize("name", ROWS)
def test_a_family_reads_what_it_writes(name, tmp_path):
    model, found = model_of(name), read_source(folder_of(name, tmp_path / "folder"), None, {})
    assert found.family.name == name and set(found.model.weights) == set(model.weights)
    assert all(found.model.weights[one].tobytes() == array.tobytes() for one, array in model.weights.items())


def test_a_base_model_alone_is_read(tmp_path):
    """Its tensors have no prefix, and there is no output: the embedding is it."""
    folder = folder_of("bart", tmp_path / "folder")
    own = {name.removeprefix("model."): array for name, array in tensors_of(folder).items() if name.startswith("model.")}
    save_file(own, folder / "model.safetensors")
    model = read_source(folder, None, {}).model
    assert model.config.tie_output and not model.config.output_bias and not model.heads


def test_shards_that_are_swapped_are_read_right_and_one_that_is_missing_is_refused(tmp_path):
    """The library too takes each file whole, whatever the index says of its tensors."""
    folder = folder_of("gpt2", tmp_path / "folder")
    tensors = tensors_of(folder)
    (folder / "model.safetensors").unlink()
    places = {name: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, name in enumerate(tensors)}
    for file in set(places.values()):
        save_file({name: tensors[name] for name in places if places[name] == file}, folder / file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    assert set(read_source(folder, None, {}).model.weights) == set(model_of("gpt2").weights)
    files = sorted(set(places.values()))
    index.write_text(json.dumps({"weight_map": {name: files[files.index(file) - 1] for name, file in places.items()}}))
    assert set(read_source(folder, None, {}).model.weights) == set(model_of("gpt2").weights)
    (folder / files[0]).unlink()
    refused(files[0], read_source, folder, None, {})


def test_a_file_cut_short_is_refused(tmp_path):
    folder = folder_of("roberta", tmp_path / "folder")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    refused("model.safetensors", read_source, folder, None, {})


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_head_is_read_as_a_part_that_runs(name, tmp_path):
    folder = with_classifier(name, tmp_path / "folder")
    model = read_source(folder, None, {}).model
    assert [head.task for head in model.heads] == ["sequence_classification"]
    assert any("Parts for tasks come along: sequence_classification." in note for note in model.notes)
    spoil(folder / "config.json", architectures=None)  # whether it is on tokens or sentences is then unknown
    kept = read_source(folder, None, {}).model
    assert [head.task for head in kept.heads] == [""] and set(kept.heads[0].tensors) == set(model.heads[0].tensors)


@pytest.mark.parametrize("name", ["bart", "bert", "gpt2"])
def test_an_unknown_head_is_listed_kept_and_written_back(name, tmp_path):
    folder = folder_of(name, tmp_path / "folder")
    prefix = ROWS[name].read(folder, {}) and {"bart": "", "bert": "bert.", "gpt2": ""}[name]
    body = {f"{prefix}{key}": array for key, array in tensors_of(folder).items()}
    save_file({**body, "my_head.weight": np.ones((2, 8), np.float32)}, folder / "model.safetensors")
    source = read_source(folder, None, {})
    assert any("kept and not run: my_head.weight" in note for note in source.model.notes)
    (tmp_path / "back").mkdir()
    source.family.write(source.model, tmp_path / "back")
    after = tensors_of(tmp_path / "back")
    assert (
        set(after) == {*body, "my_head.weight"} and after["my_head.weight"].tobytes() == np.ones((2, 8), np.float32).tobytes()
    )


def test_the_projection_of_hidden_words_must_be_the_table_where_it_is_said(tmp_path):
    folder = folder_of("distilbert", tmp_path / "folder")
    table = tensors_of(folder)["embeddings.word_embeddings.weight"]
    words = {
        "vocab_transform.weight": table[:8],
        "vocab_transform.bias": table[0],
        "vocab_projector.bias": np.ones(11, np.float32),
    }
    words |= {"vocab_layer_norm.weight": table[1], "vocab_layer_norm.bias": table[2]}
    body = {f"distilbert.{key}": array for key, array in tensors_of(folder).items()}
    save_file({**body, **words, "vocab_projector.weight": table.copy()}, folder / "model.safetensors")
    assert [head.task for head in read_source(folder, None, {}).model.heads] == ["masked_lm"]
    save_file({**body, **words, "vocab_projector.weight": table + 1}, folder / "model.safetensors")
    refused("vocab_projector.weight is not the token table", read_source, folder, None, {})
    spoil(folder / "config.json", tie_word_embeddings=False)
    assert [head.task for head in read_source(folder, None, {}).model.heads] == ["masked_lm"]


@pytest.mark.parametrize("field", [{"rope_theta": 5e5}, {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}])
def test_the_base_of_rotary_positions_is_read_from_either_release(field, tmp_path):
    """Release 4 of the library says it by itself, release 5 in a field of all that it knows of such positions."""
    folder = folder_of("llama", tmp_path / "folder")
    spoil(folder / "config.json", **{"rope_theta": None, **field})
    assert read_source(folder, None, {}).model.config.rotary_base == 5e5


@pytest.mark.parametrize(("window", "positions"), [({}, 4096), ({"sliding_window": None}, 4097), ({"sliding_window": 30}, 30)])
def test_a_window_that_hides_nothing_is_read(window, positions, tmp_path):
    """The class takes 4096 where a config.json says nothing, and none where it says null."""
    folder = folder_of("mistral", tmp_path / "folder")
    fields = json.loads((folder / "config.json").read_text())
    assert fields.pop("sliding_window") is None
    (folder / "config.json").write_text(json.dumps({**fields, **window, "max_position_embeddings": positions}))
    assert read_source(folder, None, {}).model.config.max_len == positions
    (folder / "config.json").write_text(json.dumps({**fields, "max_position_embeddings": 4097}))
    refused("sliding_window must be None for this family, got 4096", read_source, folder, None, {})
