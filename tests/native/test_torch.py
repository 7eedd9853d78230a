"""Our layers in a user's own torch program."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

import transformer_mb as tmb
from transformer_mb.backends.torch import (
    EncoderBlock,
    LayerNorm,
    MaskedSoftmaxCELoss,
    MultiHeadAttention,
)
from transformer_mb.backends.torch.optimizers import clip_gradients
from transformer_mb.backends.torch.shortcuts.random_masks import drawn_masks
from transformer_mb.backends.torch.trainer import _without_full_lengths
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.distributed import Alone
from transformer_mb.dropout_masks import batch_sites, dropout_masks
from transformer_mb.errors import ConfigError
from transformer_mb.training import TrainingRecipe, TrainingState
from transformer_mb.training.records import ValidationRecord


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_differentiated_as_torchs_own_is(smoothing):
    """Twice, by torch.func, and of each row by vmap: its gradient is written by hand."""
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 4, 7, generator=random, dtype=torch.float64, requires_grad=True)
    labels, lens = torch.randint(7, (3, 4), generator=random), torch.tensor([4, 2, 1])
    weights = torch.randn(3, 4, 7, generator=random, dtype=torch.float64)
    loss = MaskedSoftmaxCELoss(label_smoothing=smoothing)

    def ours(X, label, valid):
        return loss(X[None], label[None], valid[None])[0]

    def torchs(X, label, valid):
        losses = nn.functional.cross_entropy(X, label, reduction="none", label_smoothing=smoothing)
        return torch.where(torch.arange(len(label)) < valid, losses, 0.0).mean()

    derivatives = []
    for function in (ours, torchs):
        value = sum(function(*row) for row in zip(logits, labels, lens, strict=True))
        (first,) = torch.autograd.grad(value, logits, create_graph=True)
        (second,) = torch.autograd.grad((first * weights).pow(2).sum(), logits)
        rows = torch.func.vmap(torch.func.grad(function))(logits.detach(), labels, lens)
        derivatives.append((first.detach(), second, rows))
    for got, expected in zip(*derivatives, strict=True):
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-15)


def train(model, X, target, steps=60):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(X), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_an_encoder_block_in_a_sequential_model():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0), nn.Linear(8, 3))
    losses = train(model, torch.randn(4, 5, 6), torch.randn(4, 5, 3))
    assert losses[-1] < 0.5 * losses[0]  # 0.01 to 0.14 of it with twenty seeds


@pytest.mark.parametrize("watched", ["__setattr__", "train"])
def test_a_layer_of_a_users_own_is_told_its_mode(watched):
    def told_first(self, *given):
        told.extend(value for value in given if isinstance(value, bool))
        return getattr(nn.Linear, watched)(self, *given)

    Watching = type("Watching", (nn.Linear,), {watched: told_first})
    told, backend = [], tmb.get_backend("torch")
    model = backend.build(tmb.presets.d2l(9, 9), seed=0)
    model.decoder.dense = Watching(32, 9).train()
    told.clear()
    backend.logits(model, np.array([[4, 5]]), np.array([[2, 6]]), np.array([2]))
    assert told == [False, True]


@pytest.mark.parametrize("form", ["copy", "state_dict"])
def test_a_layer_is_an_ordinary_module(form):
    layer = MultiHeadAttention(8, 8, 8, 8, 2, 0.0).double()
    X = torch.randn(2, 3, 8, dtype=torch.float64)
    other = copy.deepcopy(layer) if form == "copy" else MultiHeadAttention(8, 8, 8, 8, 2, 0.0).double()
    other.load_state_dict(layer.state_dict())
    assert list(layer.state_dict()) == [f"W_{name}.weight" for name in "qkvo"]
    torch.testing.assert_close(other(X, X, X), layer(X, X, X), rtol=0, atol=0)


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_rms_norm_is_that_of_torch(eps):
    theirs, ours = torch.nn.RMSNorm(8, eps=eps, dtype=torch.float64), LayerNorm(8, kind="rms_norm", eps=eps).double()
    reference = tmb.get_backend("numpy", dtype="float64").layer("LayerNorm", 8, kind="rms_norm", eps=eps)
    weight, X = torch.rand(8, dtype=torch.float64), torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        theirs.weight.copy_(weight)
        ours.weight.copy_(weight)
    reference.weight.value = weight.numpy().copy()
    expected = theirs(X)
    expected.sum().backward()
    assert ours.bias is None and torch.equal(ours(X), expected)
    by_hand = reference.forward(X.detach().numpy())
    np.testing.assert_allclose(by_hand, expected.detach().numpy(), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(reference.backward(np.ones_like(by_hand)), X.grad.numpy(), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(reference.weight.gradient, theirs.weight.grad.numpy(), rtol=1e-13)


def test_adamw_of_every_backend_is_that_of_torch():
    """The reference of the matrix is NumPy's, which is held here by torch's own loop over single tensors."""
    backend = tmb.get_backend("numpy", dtype="float64")
    options = {"learning_rate": 0.01, "betas": (0.8, 0.98), "eps": 1e-3, "weight_decay": 0.3}
    model = backend.build(tmb.presets.d2l(9, 9, num_hiddens=8, ffn_num_hiddens=6))
    ours, start = backend.trainer(model, optimizer="adamw", **options), backend.get_weights(model)
    theirs = {name: nn.Parameter(torch.tensor(value)) for name, value in start.items()}
    adamw = torch.optim.AdamW(theirs.values(), 0.01, (0.8, 0.98), 1e-3, 0.3, foreach=False)
    random = np.random.default_rng(0)
    for rate in (0.01, 0.03, 0.001):
        gradients = {name: random.standard_normal(value.shape) for name, value in start.items()}
        ours.learning_rate = adamw.param_groups[0]["lr"] = rate
        for name, parameter in theirs.items():
            parameter.grad = torch.tensor(gradients[name])
        ours.update(gradients)
        adamw.step()
    for name, weight in backend.get_weights(model).items():
        np.testing.assert_allclose(weight, theirs[name].detach().numpy(), rtol=1e-13, atol=1e-15)


def test_autocast_casts_by_itself():
    """Under it a layer takes other floating dtypes than that of its weights."""
    block = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, norm_position="pre").eval()
    X = torch.randn(2, 3, 8)
    expected = block(X)
    with torch.autocast("cpu", torch.bfloat16):
        for given in (X, X.bfloat16()):
            torch.testing.assert_close(block(given).float(), expected, rtol=0.1, atol=0.1)
    with pytest.raises(tmb.errors.DtypeError, match="X must have dtype float32 as the weights have, got bfloat16"):
        block(X.bfloat16())


def test_sums_of_two_byte_products_are_not_rounded_on_the_way_on_a_gpu(monkeypatch):
    """The GPU itself is imagined: nothing is computed on it."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    switches = torch.backends.cuda.matmul
    for name in ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction"):
        monkeypatch.setattr(switches, name, True)
    tmb.get_backend("torch", device="cpu")
    assert switches.allow_bf16_reduced_precision_reduction and switches.allow_fp16_reduced_precision_reduction
    tmb.get_backend("torch", device="cuda")
    assert not switches.allow_bf16_reduced_precision_reduction and not switches.allow_fp16_reduced_precision_reduction


def small_batch(rng, rows=4):
    ids = rng.integers(4, 20, (3, rows, 6))
    return Batch(ids[0], np.full(rows, 5), ids[1], ids[2], np.full(rows, 4))


def test_a_batch_without_padding_gives_a_gpu_no_lengths():
    """Its fastest attention takes no mask; what comes out is the same."""
    backend, padded = tmb.get_backend("torch"), small_batch(np.random.default_rng(0))
    full = padded._replace(source_valid_lens=np.full(4, 6))
    without = _without_full_lengths(full)
    assert without.source_valid_lens is None and _without_full_lengths(padded) is padded
    model = backend.build(tmb.presets.d2l(20, 20))
    np.testing.assert_allclose(backend.losses(model, without), backend.losses(model, full), rtol=1e-5)


def losses(batches, **options):
    backend = tmb.get_backend("torch")
    config = TransformerConfig(
        source_vocab_size=20, target_vocab_size=20, encoder_num_layers=1, decoder_num_layers=1, dropout=0.1
    )
    model = backend.build(config, seed=0)
    trainer = backend.trainer(model, learning_rate=0.01, **options)
    found = [float(trainer.step(batch, masks)) for batch, masks in batches(config)]
    assert {tensor.dtype for tensor in (*model.parameters(), *trainer.moments("m"))} == {torch.float32}
    return np.array(found), backend, model


def test_bf16_training_follows_float32():
    batch = small_batch(np.random.default_rng(0))

    def batches(config):
        return [(batch, dropout_masks(config, 0, step, 4, 6, 6)) for step in range(20)]

    (full, _, _), (bf16, backend, model) = losses(batches), losses(batches, precision="bf16")
    assert full[-1] < 0.7 * full[0]
    np.testing.assert_allclose(bf16, full, rtol=0, atol=0.01 * full[0])
    assert np.abs(bf16 - full).max() > 1e-5 * full.max()  # it is another arithmetic
    logits = backend.logits(model, batch.source, batch.target_in)
    assert not np.array_equal(logits, torch.as_tensor(logits).bfloat16().float().numpy())


@pytest.mark.long
def test_a_compiled_step_is_the_eager_one_for_batches_of_other_sizes():
    rng = np.random.default_rng(0)
    given = [small_batch(rng, rows) for rows in (4, 3, 5, 7)]

    def batches(config):
        return [(batch, dropout_masks(config, 0, step, len(batch.source), 6, 6)) for step, batch in enumerate(given)]

    torch._dynamo.reset()
    counters.clear()
    (eager, _, plain), (compiled, _, model) = losses(batches), losses(batches, compile=True)
    np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    torch.testing.assert_close(dict(model.named_parameters()), dict(plain.named_parameters()), rtol=1e-3, atol=1e-5)
    # A second program where the first batch has as many rows as something else has, and never one for each size.
    assert not counters["graph_break"] and counters["stats"]["unique_graphs"] <= 2
    drawn, *_ = losses(lambda config: [(batch, None) for batch in given], compile=True)
    again, *_ = losses(lambda config: [(batch, None) for batch in given], compile=True)
    assert np.array_equal(drawn, again) and not np.array_equal(drawn, eager)


def test_what_a_compiled_step_drops_is_drawn_by_the_rate_of_each_place():
    """Outside of the step, so that no other test of its own random numbers sees them."""
    sizes = {"encoder_num_layers": 1, "decoder_num_layers": 1, "num_hiddens": 64, "ffn_num_hiddens": 64}
    rates = {"dropout": 0.1, "embedding_dropout": 0.3, "attention_dropout": 0.2, "ffn_dropout": 0.4}
    config = TransformerConfig(source_vocab_size=20, target_vocab_size=20, **sizes, **rates)
    batch = Batch(*(torch.zeros(4, 16, dtype=torch.int64) for _ in Batch._fields))
    masks, sites = drawn_masks(config, batch), batch_sites(config, batch)
    assert set(masks) == set(sites)
    for path, (rate, shape) in sites.items():
        mask = masks[path].double()
        assert mask.shape == shape and abs(mask.mean() - (1.0 - rate)) < 5.0 * np.sqrt(rate * (1.0 - rate) / mask.numel())
        assert all((mask[0] != mask[row]).any() for row in range(1, 4))


def test_what_processes_keep_in_parts_is_not_compiled():
    backend = tmb.get_backend("torch")
    trainer = backend.trainer(backend.build(tmb.presets.d2l(20, 20)), **{"compile": True})
    processes = Alone()
    processes.sharded = True
    with pytest.raises(ConfigError, match="compile must be false where processes keep the weights in parts, got true"):
        trainer.join(processes)


@pytest.mark.parametrize("watch", ["hook", "subclass"])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_decoding_goes_through_layers_that_somebody_watches(side, watch):
    backend = tmb.get_backend("torch")
    model = backend.build(tmb.presets.d2l(20, 20), seed=0)
    source = np.random.default_rng(0).integers(4, 20, (2, 6))  # few enough to be encoded past the layers
    expected, seen = backend.greedy(model, source, max_steps=6), []
    block = getattr(model, side).blks[0]
    if watch == "hook":
        block.register_forward_hook(lambda *_: seen.append(1))
    else:
        kind = type(block)
        block.__class__ = type("Own", (kind,), {"forward": lambda *a, **o: seen.append(1) or kind.forward(*a, **o)})
    assert backend.greedy(model, source, max_steps=6) == expected and seen


def test_a_large_gradient_is_clipped_to_its_norm():
    """torch's own norm of a large array loses digits in float32; ours does not."""
    random = np.random.default_rng(0)
    gradient = torch.from_numpy(random.standard_normal((8001, 256)).astype(np.float32))
    gradient[1593] *= 300.0
    small = torch.ones(3)
    exact = np.sqrt(np.sum(np.float64(gradient) ** 2) + 3.0)
    clip_gradients([gradient, small], 1.0)
    assert abs(float(small[0]) * exact - 1.0) < 1e-6


@pytest.mark.parametrize("patience", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_rate_is_lowered_where_torch_lowers_it(patience, seed):
    """On a plateau. Torch waits for one more than its patience, and takes no improvement below its threshold for one."""
    losses = np.random.default_rng(seed).random(60).round(3)
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.7, patience=patience - 1, threshold=0.0, eps=0.0)
    recipe, state = TrainingRecipe(schedule="plateau", plateau_factor=0.7, plateau_patience=patience), TrainingState()
    for step, loss in enumerate(losses, start=1):
        theirs.step(loss)
        state.validated(ValidationRecord(step, step, float(loss)), recipe, closing=False)
        assert recipe.plateau_factor ** len(state.lowered) == pytest.approx(optimizer.param_groups[0]["lr"])
    assert len(state.lowered) > 5


def test_a_model_made_without_memory_gets_it_later():
    """As PyTorch's own are, inside ``torch.device("meta")``."""
    backend = tmb.get_backend("torch", dtype="float64")
    with torch.device("meta"):
        model = backend.create_empty(tmb.presets.d2l(9, 9))
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("meta", torch.float64)}
    assert {p.device.type for p in model.to_empty(device="cpu").parameters()} == {"cpu"}
