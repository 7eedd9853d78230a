"""What torch does beside a processor, as far as tensors without numbers show it."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel

from native.small import LAST_KEPT, tokens_of_late_sums
from transformer_mb.backends.torch.attention import DotProductAttention
from transformer_mb.backends.torch.cache import BlockCache
from transformer_mb.backends.torch.decoding import drawn
from transformer_mb.backends.torch.dropout import Dropout
from transformer_mb.backends.torch.loss import MaskedSoftmaxCELoss
from transformer_mb.backends.torch.model import EncoderDecoder
from transformer_mb.backends.torch.optimizers import build_optimizer
from transformer_mb.backends.torch.shortcuts.compiled_loss import batch_loss, compiled_loss
from transformer_mb.backends.torch.shortcuts.decoding_steps import BlockSteps
from transformer_mb.parity.rows.model_cases import CONFIGS
from transformer_mb.trainer import TrainerOptions


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_a_loss_is_one_program_for_batches_of_any_size(rate):
    """Fused attention takes a bool, which what is compiled for any size has none of where it only compares sizes."""
    loss = MaskedSoftmaxCELoss()
    with torch.device("meta"):
        model = EncoderDecoder.from_config(CONFIGS["d2l"].replace(dropout=rate)).train()
        source, target, lens = (torch.zeros(*shape, dtype=torch.long) for shape in ((3, 7), (3, 6), (3,)))
    compiled = torch.compile(partial(batch_loss, model, loss), dynamic=True, backend="eager", fullgraph=True)
    assert compiled(source, lens, target, target, lens).device.type == "meta"


@pytest.mark.parametrize(("device", "dynamic"), [("cuda", None), ("cpu", True)])
def test_a_step_on_a_gpu_is_compiled_for_its_first_size_before_it_is_for_any(device, dynamic, monkeypatch):
    chosen = []
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: chosen.append(dynamic))
    with FakeTensorMode():
        model = torch.nn.Module()
        model.weight = torch.nn.Parameter(torch.zeros(3, device=device))
    compiled_loss(model, MaskedSoftmaxCELoss())
    assert chosen == [dynamic]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_query_without_a_key_gets_nothing_whatever_the_kernel_gives(dtype, monkeypatch):
    """cuDNN's kernel gave 1.8 there, on an H200 with PyTorch 2.11: what comes out is set, where it is 0 to begin with."""
    set_to = []
    monkeypatch.setattr(torch.Tensor, "masked_fill", lambda self, *given, fill=torch.Tensor.masked_fill: (
        set_to.append((tuple(self.shape), tuple(given[0].shape), given[1])) or fill(self, *given)
    ))  # fmt: skip
    Q, K = (torch.zeros(2, 2, steps, 8, dtype=dtype, device="meta") for steps in (3, 5))
    DotProductAttention(0.0).eval()(Q, K, K, torch.tensor([4, 0], device="meta"))
    assert set_to[-1] == ((2, 2, 3, 8), (2, 1, 1, 1), 0.0)


@pytest.mark.parametrize("precision", ["full", "bf16", "tf32"])
@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_adam_on_a_gpu_is_one_pass_where_digits_may_be_lost(optimizer, precision):
    """PyTorch's fused Adam takes 1 - beta in float32 there."""
    with FakeTensorMode():
        weight = torch.nn.Parameter(torch.zeros(3, device="cuda"))
        options = TrainerOptions(optimizer=optimizer, precision=precision)
        (group,) = build_optimizer([weight], options).param_groups
    assert (group["fused"], group["foreach"]) == (precision != "full", precision == "full")


@pytest.mark.parametrize("precision", ["highest", "high"])
@pytest.mark.parametrize("kernel", [None, SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION])
def test_float32_takes_a_fused_kernel_where_digits_may_be_lost_or_kernels_are_chosen(precision, kernel, monkeypatch):
    """PyTorch's memory-efficient one erred up to 27 times as much as the others, on an H200."""
    fused = []
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *given, **_: fused.append(given) or given[0])
    before, Q = torch.get_float32_matmul_precision(), torch.zeros(2, 2, 3, 8, device="meta")
    torch.set_float32_matmul_precision(precision)
    try:
        with nullcontext() if kernel is None else sdpa_kernel(kernel):
            DotProductAttention(0.0).eval()(Q, Q, Q)
    finally:
        torch.set_float32_matmul_precision(before)
    assert len(fused) == (precision == "high" or kernel is not None)


def test_dropout_of_composed_attention_is_drawn_beside_the_weights():
    factors = Dropout(0.5).train()._factors((2, 3), torch.zeros(1, device="meta"))
    assert (factors.device.type, factors.shape) == ("meta", (2, 3))


@pytest.mark.parametrize("name", ["d2l", "relative positions", "rotary"])
def test_positions_follow_a_model_that_was_made_without_a_device(name):
    """So large models are loaded: made on no device, then given room where they are to be, and weights."""
    config = CONFIGS[name]
    built = EncoderDecoder.from_config(config).eval()
    with torch.device("meta"):
        empty = EncoderDecoder.from_config(config).eval()
    loaded = empty.to_empty(device="cpu")
    loaded.load_state_dict(built.state_dict())
    source, target, lens = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 6]]), torch.tensor([3])
    torch.testing.assert_close(loaded(source, target, lens), built(source, target, lens), rtol=0.0, atol=0.0)


def test_the_angles_of_a_search_lie_where_its_weights_do():
    """A new layer has no table until it is first called."""
    model = EncoderDecoder.from_config(CONFIGS["rotary"]).eval().to("meta")
    (block, *_), cache = model.decoder.blks, BlockCache()
    assert block.attention1.rotary.table is None
    steps = BlockSteps(block, None, None, cache, rows=2, max_steps=4)
    assert steps.angles.device.type == "meta"


def test_a_sum_that_ends_late_draws_the_last_token_that_was_kept():
    assert tokens_of_late_sums(drawn, torch.tensor) == LAST_KEPT
