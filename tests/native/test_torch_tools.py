"""PyTorch's own tools on our layers: wrappers, hooks of all layers, traces."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad

import transformer_mb as tmb
from transformer_mb.backends.torch import EncoderBlock, EncoderDecoder, MaskedSoftmaxCELoss, MultiHeadAttention
from transformer_mb.presets import d2l

SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 24, "encoder_num_layers": 1, "decoder_num_layers": 1}
OTHERS = {"position": "learned", "embedding_norm": True, "final_norm": True, "norm_position": "pre"}
SOURCE, TARGET, LENS = torch.tensor([[5, 6, 7], [8, 9, 3]]), torch.tensor([[2, 4, 5], [2, 6, 7]]), torch.tensor([3, 2])


class Wrapper(nn.Module):
    """What adapters look like: a layer inside, and nothing of its attributes outside."""

    def __init__(self, layer, factor=1.0):
        super().__init__()
        self.layer, self.factor = layer, factor

    def forward(self, *inputs, **options):
        return self.layer(*inputs, **options) * self.factor


@pytest.fixture(scope="module", params=[{}, OTHERS], ids=["book", "others"])
def model(request):
    return tmb.get_backend("torch").build(d2l(23, 29, **SIZES, **request.param), seed=0).eval()


# Blocks are called one by one with a state; AddNorm and a decoder's attention have methods that blocks call.
PARTS = ("W_q", "W_k", "W_v", "W_o", "dense1", "dense2", "dense", "embedding", "pos_embedding", "pos_encoding", "ln", "norm")
PARTS += ("embedding_norm", "ffn", "dropout", "encoder.blks.block0", "encoder.blks.block0.attention")


def test_a_wrapper_around_any_part_is_obeyed_in_forward_and_in_decoding(model):
    backend = tmb.get_backend("torch")
    expected, _ = model(SOURCE, TARGET, LENS)
    decoded = backend.greedy(model, SOURCE.numpy(), LENS.numpy(), 6)
    wrapped = [name for name, _ in model.named_modules() if name.endswith(PARTS)]
    assert len(wrapped) > 30
    for name in wrapped:
        changed = copy.deepcopy(model)
        parent, _, attribute = name.rpartition(".")
        wrapper = Wrapper(changed.get_submodule(name))
        setattr(changed.get_submodule(parent), attribute, wrapper)
        torch.testing.assert_close(changed(SOURCE, TARGET, LENS)[0], expected, rtol=0, atol=1e-5, msg=name)
        assert backend.greedy(changed, SOURCE.numpy(), LENS.numpy(), 6) == decoded, name
        wrapper.factor = 0.0
        assert not torch.allclose(changed(SOURCE, TARGET, LENS)[0], expected, atol=1e-4) or name.endswith("W_k"), name


def test_an_embedding_of_somebody_else_has_its_own_refusal(model):
    changed = copy.deepcopy(model)
    changed.encoder.embedding = Wrapper(changed.encoder.embedding)
    with pytest.raises(IndexError):
        changed(SOURCE + 99, TARGET, LENS)


@pytest.mark.parametrize("call", ["forward", "greedy", "beam"])
@pytest.mark.parametrize("register", ["register_module_forward_hook", "register_module_forward_pre_hook"])
def test_a_hook_of_all_layers_sees_every_layer_of_ours(register, call, model):
    backend, seen = tmb.get_backend("torch"), set()
    hook = getattr(nn.modules.module, register)(lambda layer, *_: seen.add(layer))
    try:
        if call == "forward":
            model(SOURCE, TARGET, LENS)
        else:
            getattr(backend, call)(model, SOURCE.numpy(), LENS.numpy(), 4)
    finally:
        hook.remove()
    unseen = {name for name, layer in model.named_modules() if layer not in seen}
    # A list of blocks is gone through. Decoding calls the two stacks, and the encoder's blocks where its source is long.
    assert unseen <= {"", "encoder.blks", "decoder.blks"}, unseen


def test_a_hook_of_all_layers_changes_what_is_decoded(model):
    backend, dense = tmb.get_backend("torch"), model.decoder.dense
    decoded = backend.greedy(model, SOURCE.numpy(), LENS.numpy(), 4)

    def only_seven(layer, inputs, output):
        return torch.full_like(output, -9.0).index_fill(-1, torch.tensor(7), 9.0) if layer is dense else None

    hook = nn.modules.module.register_module_forward_hook(only_seven)
    try:
        assert backend.greedy(model, SOURCE.numpy(), LENS.numpy(), 4) == [[7] * 4] * 2 != decoded
    finally:
        hook.remove()
    assert backend.greedy(model, SOURCE.numpy(), LENS.numpy(), 4) == decoded


def test_the_decoders_attention_is_called_as_a_layer(model):
    """So that a hook on it sees queries, and may change what it gives."""
    seen = []
    block = model.decoder.blks[0]
    hooks = [
        layer.register_forward_hook(lambda _, given, __: seen.append(given[0].shape))
        for layer in (block.attention1, block.attention2)
    ]
    model(SOURCE, TARGET, LENS)
    for hook in hooks:
        hook.remove()
    assert seen == [(2, 3, 16), (2, 3, 16)]


def traced(module, *inputs):
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.trace(module, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_trace_of_the_whole_model_takes_other_sizes(dtype):
    """The logits come first, as ever; of the state what a trace can give back, its tensors."""
    model = EncoderDecoder.from_config(d2l(23, 29, **SIZES)).eval().to(dtype)
    program = traced(model, SOURCE, TARGET, LENS)
    source, target = torch.randint(3, 20, (4, 20)), torch.randint(3, 20, (4, 7))
    for inputs in ((SOURCE, TARGET, LENS), (source, target, torch.tensor([20, 1, 9, 3]))):
        logits, _ = program(*inputs)
        torch.testing.assert_close(logits, model(*inputs)[0], rtol=0, atol=1e-6)
    assert isinstance(model(SOURCE, TARGET, LENS)[1], list)


def test_traces_of_layers_with_and_without_a_causal_mask():
    attention, X = MultiHeadAttention(8, 8, 8, 8, 2, 0.0).eval(), torch.randn(2, 5, 8)

    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = attention

        def forward(self, X):
            return self.attention(X, X, X, causal=True)

    other = torch.randn(3, 20, 8)
    for module in (Causal(), EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0).eval()):
        torch.testing.assert_close(traced(module, X)(other), module(other), rtol=0, atol=1e-6)


def test_a_model_whose_weights_were_asked_for_is_copied_without_them(tmp_path):
    """Of a graph torch copies no tensor: a training that keeps a moving average would end."""
    attention, X = MultiHeadAttention(8, 8, 8, 8, 2, 0.0).train(), torch.randn(2, 5, 8)
    expected = attention(X, X, X, need_weights=True)
    torch.save(attention, tmp_path / "whole.pt")
    for copied in (copy.deepcopy(attention), torch.load(tmp_path / "whole.pt", weights_only=False)):
        assert copied.attention_weights is None
        torch.testing.assert_close(copied(X, X, X), expected)
    assert attention.attention_weights.shape == (2, 2, 5, 5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("normalization", ["steps", "tokens"])
def test_the_loss_is_differentiated_forwards(normalization, smoothing):
    """Along a direction as by its gradient, through torch.func and through forward_ad alike."""
    generator = torch.Generator().manual_seed(0)
    logits, direction = (torch.randn(3, 4, 11, dtype=torch.float64, generator=generator) for _ in range(2))
    labels, lens = torch.randint(0, 11, (3, 4), generator=generator), torch.tensor([4, 0, 2])
    loss = MaskedSoftmaxCELoss(label_smoothing=smoothing, normalization=normalization)
    jacobian = torch.func.jacrev(lambda X: loss(X, labels, lens))(logits)
    expected = (jacobian * direction).sum(dim=(1, 2, 3))
    _, by_func = torch.func.jvp(lambda X: loss(X, labels, lens), (logits,), (direction,))
    with forward_ad.dual_level():
        by_level = forward_ad.unpack_dual(loss(forward_ad.make_dual(logits, direction), labels, lens)).tangent
    torch.testing.assert_close((by_func, by_level), (expected, expected), rtol=1e-12, atol=1e-14)
