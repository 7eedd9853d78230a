"""Products of whole numbers: within what rounding allows, everywhere in a model, and for decoding alone."""

import numpy as np
import pytest
import torch

from transformer_mb.backends.numpy.framework import Linear
from transformer_mb.backends.numpy.int8 import Int8Linear as ImitatedLinear
from transformer_mb.backends.torch.shortcuts.int8 import Int8Linear
from transformer_mb.checkpoint import save
from transformer_mb.config import TransformerConfig
from transformer_mb.data import Vocabulary
from transformer_mb.errors import DtypeError
from transformer_mb.inference.translation import Translator
from transformer_mb.registry import get_backend

CONFIG = TransformerConfig(
    source_vocab_size=40, target_vocab_size=40, num_hiddens=64, ffn_num_hiddens=96, encoder_num_heads=4, decoder_num_heads=4,
    share_embeddings=True, tie_output=True,
)  # fmt: skip


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 24), (5, 24), (2, 3, 24)])
def test_a_product_is_off_by_no_more_than_its_roundings(shape, bias):
    """|x.w - x'.w'| <= sum|x'||w - w'| + sum|w||x - x'|: half a scale of the row for each w, half of the input's for each x."""
    torch.manual_seed(0)
    linear, X = torch.nn.Linear(24, 17, bias=bias), 3.0 * torch.randn(shape)
    with torch.no_grad():
        got, exact = Int8Linear(linear)(X).double(), linear.double()(X.double())
    weight = linear.weight.detach().double()
    of_weights = weight.abs().amax(dim=1) / 127
    of_input = (max(float(X.max()), 0.0) - min(float(X.min()), 0.0)) / 127
    sums = (X.double().abs() + of_input / 2).sum(dim=-1, keepdim=True)
    bound = of_weights / 2 * sums + of_input / 2 * weight.abs().sum(dim=1)
    assert got.shape == exact.shape
    assert bool(((got - exact).abs() <= 1.01 * bound).all())
    assert float((got - exact).abs().max()) > 0.0


@pytest.mark.parametrize("shape", [(1, 24), (5, 24), (2, 3, 24)])
def test_numpy_imitates_the_same_products(shape):
    """Apart from the order of sums: where both round, they round to the same numbers."""
    torch.manual_seed(1)
    linear, X = torch.nn.Linear(24, 17), 3.0 * torch.randn(shape)
    imitated = Linear(24, 17)
    imitated.weight.value, imitated.bias.value = (tensor.detach().numpy() for tensor in (linear.weight, linear.bias))
    with torch.no_grad():
        got = Int8Linear(linear)(X).numpy()
    np.testing.assert_allclose(ImitatedLinear(imitated)(X.numpy()), got, rtol=0, atol=2e-6 * np.abs(got).max())


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_a_row_is_computed_as_alone(name):
    """Beside one of numbers a thousand times larger, and beside padding."""
    backend = get_backend(name)
    model = backend.build(CONFIG, seed=0)
    weights = backend.get_weights(model)
    weights["encoder.embedding.weight"][5] *= 1000.0
    backend.set_weights(model, weights)
    copy = backend.quantized(model)
    source, lens = np.array([[7, 8, 9, 1, 1, 1], [5, 6, 5, 10, 11, 5]]), np.array([3, 6])
    target = np.array([[2, 7, 9], [2, 5, 5]])
    together, alone = backend.logits(copy, source, target, lens), backend.logits(copy, source[:1, :3], target[:1], lens[:1])
    np.testing.assert_allclose(together[0], alone[0], rtol=0, atol=1e-4 * np.abs(alone).max())


def test_all_linear_layers_of_a_copy_are_rounded_and_the_model_stays():
    backend = get_backend("torch")
    model = backend.build(CONFIG, seed=0)
    copy = backend.quantized(model)
    kinds = {type(layer) for layer in copy.modules() if isinstance(layer, torch.nn.Linear)}
    assert kinds == {Int8Linear}
    assert not any(isinstance(layer, Int8Linear) for layer in model.modules())
    assert copy.decoder.dense.weight is copy.decoder.embedding.weight
    weights = backend.get_weights(model)
    assert all(np.array_equal(value, weights[name]) for name, value in backend.get_weights(copy).items())


@pytest.mark.parametrize("beam", [1, 3])
def test_it_decodes_whole_sentences(beam):
    """Each token is one whose own logit in float32 is within what int8 may be off of the best."""
    backend = get_backend("torch")
    model = backend.build(CONFIG, seed=0)
    copy = backend.quantized(model)
    source, lens = np.random.default_rng(0).integers(4, 40, (3, 9)), np.array([9, 5, 1])
    target = np.random.default_rng(1).integers(4, 40, (3, 6))
    exact, near = (backend.logits(one, source, target, lens) for one in (model, copy))
    assert 0.0 < np.abs(near - exact).max() <= 0.1 * np.abs(exact).max()
    found = backend.beam(copy, source, lens, 8, beam) if beam > 1 else backend.greedy(copy, source, lens, 8)
    assert len(found) == 3 and all(1 <= len(row) <= 8 for row in found)


def test_other_dtypes_are_refused():
    backend = get_backend("torch", dtype="float64")
    with pytest.raises(DtypeError, match="int8 is made of float32 on the CPU"):
        backend.quantized(backend.build(CONFIG))


def test_a_translator_loads_it_by_its_dtype(tmp_path):
    backend = get_backend("torch")
    words = Vocabulary(["<unk>", "<pad>", "<bos>", "<eos>", *map(str, range(36))])
    save(backend.build(CONFIG), tmp_path / "model", vocabularies=(words, words))
    translator = Translator.load(tmp_path / "model", "torch", dtype="int8")
    assert isinstance(translator.model.decoder.dense, Int8Linear)
    assert isinstance(translator.translate(["1 2 3"])[0], str)
