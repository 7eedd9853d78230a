"""Weights that the embedding and the output projection share stay so, in whatever way PyTorch moves or copies a model."""

import copy

import pytest
import torch
from torch import nn

from transformer_mb.backends.torch.model import EncoderDecoder
from transformer_mb.config import TransformerConfig
from transformer_mb.parity.rows.model_cases import SMALL

CONFIG = TransformerConfig(**SMALL, tie_output=True, padding_vector_zero=True, output_bias=False)


def made_on_no_device(config):
    with torch.device("meta"):
        return EncoderDecoder.from_config(config)


def given_memory(model, folder):
    empty = made_on_no_device(model.config).to_empty(device="cpu")
    empty.load_state_dict(model.state_dict())
    return empty


def given_tensors(model, folder):
    empty = made_on_no_device(model.config)
    empty.load_state_dict(model.state_dict(), assign=True)
    return empty


def given_tensors_within_another(model, folder):
    outer = nn.ModuleDict({"inner": made_on_no_device(model.config)})
    outer.load_state_dict({f"inner.{name}": value for name, value in model.state_dict().items()}, assign=True)
    return outer["inner"]


def saved_whole(model, folder):
    torch.save(model, folder / "whole.pt")
    return torch.load(folder / "whole.pt", weights_only=False)


WAYS = {
    "as made": lambda model, folder: model,
    "copy.deepcopy": lambda model, folder: copy.deepcopy(model),
    "to another dtype": lambda model, folder: model.to(torch.float64),
    "to_empty": given_memory,
    "load_state_dict(assign=True)": given_tensors,
    "the same within another module": given_tensors_within_another,
    "torch.save of the whole model": saved_whole,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shared", [False, True])
def test_weights_stay_tied_and_padding_gets_no_gradient(way, shared, tmp_path):
    config = CONFIG.replace(share_embeddings=shared, source_vocab_size=CONFIG.target_vocab_size)
    model = WAYS[way](EncoderDecoder.from_config(config), tmp_path).eval()
    assert model.decoder.dense.weight is model.decoder.embedding.weight
    logits, _ = model(torch.tensor([[4, 5, 3]]), torch.tensor([[2, 6]]), torch.tensor([3]))
    (logits + 1.0).square().sum().backward()
    by_row = model.decoder.dense.weight.grad.abs().amax(dim=1)
    assert by_row[config.pad_id] == 0.0 and by_row[6] > 0.0


@pytest.mark.parametrize("way", ["copy.deepcopy", "to another dtype"])
def test_what_one_has_untied_stays_apart(way, tmp_path):
    model = EncoderDecoder.from_config(CONFIG)
    model.decoder.dense.weight = nn.Parameter(torch.ones_like(model.decoder.embedding.weight))
    moved = WAYS[way](model, tmp_path)
    assert moved.decoder.dense.weight is not moved.decoder.embedding.weight and (moved.decoder.dense.weight == 1.0).all()


def test_weights_in_memory_of_their_own_are_not_tied():
    model = EncoderDecoder.from_config(CONFIG.replace(tie_output=False))
    model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
    assert model.decoder.dense.weight is not model.decoder.embedding.weight
    with torch.device("meta"):
        empty = EncoderDecoder.from_config(CONFIG.replace(tie_output=False))
    empty.load_state_dict(empty.state_dict(), assign=True)
    assert empty.decoder.dense.weight is not empty.decoder.embedding.weight


class Adapter(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, *inputs, **options):
        return self.layer(*inputs, **options)


@pytest.mark.parametrize("part", ["decoder", "decoder.dense", "decoder.embedding"])
def test_what_one_has_put_around_a_layer_is_moved_copied_and_loaded(part, tmp_path):
    model = EncoderDecoder.from_config(CONFIG)
    model.set_submodule(part, Adapter(model.get_submodule(part)))
    moved = copy.deepcopy(model.double())
    moved.load_state_dict(saved_whole(model, tmp_path).state_dict(), assign=True)
    assert {parameter.dtype for parameter in moved.parameters()} == {torch.float64}
