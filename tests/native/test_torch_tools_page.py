"""The rows of docs/NATIVE.md for PyTorch: each tool on a whole model, whose logits must stay what they are."""

import copy
import io
import pickle
import warnings

import pytest
import torch
from tools_page import check
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.func import functional_call
from torch.nn.utils import parametrizations, parametrize, prune
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import transformer_mb as tmb
from transformer_mb.backends.torch import EncoderDecoder
from transformer_mb.errors import CheckpointError, ConfigError
from transformer_mb.presets import d2l

CONFIG = d2l(23, 29, num_hiddens=16, ffn_num_hiddens=24, encoder_num_layers=1, decoder_num_layers=1)
INPUTS = torch.tensor([[5, 6, 7], [8, 9, 3]]), torch.tensor([[2, 4, 5], [2, 6, 7]]), torch.tensor([3, 2])
SOURCE, _, LENS = (tensor.numpy() for tensor in INPUTS)


@pytest.fixture(scope="module")
def original():
    return tmb.get_backend("torch").build(CONFIG, seed=0).eval()


@pytest.fixture
def model(original):
    return copy.deepcopy(original)


def logits(call, *inputs):
    return call(*(inputs or INPUTS))[0].detach()


def equal(model, call, tolerance=1e-5):
    torch.testing.assert_close(logits(call), logits(model), rtol=0, atol=tolerance)


def decodes(model):
    backend = tmb.get_backend("torch")
    assert len(backend.greedy(model, SOURCE, LENS, 3)) == 2 == len(backend.beam(model, SOURCE, LENS, 3, beam=2))


def linears(model):
    return [layer for layer in model.modules() if type(layer) is nn.Linear]


def saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def on_no_device(model):
    with torch.device("meta"):
        empty = EncoderDecoder.from_config(CONFIG)
    empty.load_state_dict(model.state_dict(), assign=True)
    equal(model, empty.eval())


def parametrized(parametrize):
    def tool(model):
        changed = copy.deepcopy(model)
        for layer in linears(changed):
            parametrize(layer)
        equal(model, changed)
        decodes(changed)
        logits_with_graph, _ = changed(*INPUTS)
        logits_with_graph.sum().backward()

    return tool


def masked(layer):
    prune.l1_unstructured(layer, "weight", amount=0)


def quantized(model):
    changed = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {nn.Linear}, dtype=torch.qint8)
    assert any("Quantized" in type(layer).__name__ or "quantized" in type(layer).__module__ for layer in changed.modules())
    equal(model, changed, 0.2)
    decodes(changed)


def traced(model):
    program = torch.jit.trace(model, INPUTS)
    equal(model, program)
    equal(model, torch.jit.freeze(program))


def of_any_size(model):
    B, S, T = (torch.export.Dim(name, min=2, max=50) for name in "BST")
    program = torch.export.export(model, INPUTS, dynamic_shapes=({0: B, 1: S}, {0: B, 1: T}, {0: B})).module()
    equal(model, program)
    more = [tensor.repeat(2, *[2] * (tensor.dim() - 1)) for tensor in INPUTS]
    torch.testing.assert_close(logits(program, *more), logits(model, *more), rtol=0, atol=1e-5)


def exported(model):
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, INPUTS), file)
    file.seek(0)
    equal(model, torch.export.load(file).module())


def loss_of(model):
    return lambda parameters, *inputs: functional_call(model, parameters, inputs)[0].square().mean()


def gradient(model):
    found = torch.func.grad(loss_of(model))(dict(model.named_parameters()), *INPUTS)
    loss_of(model)(dict(model.named_parameters()), *INPUTS).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad)


def gradients_of_each_row(model):
    def of_one(parameters, *row):
        return loss_of(model)(parameters, *(each[None] for each in row))

    found = torch.func.vmap(torch.func.grad(of_one), (None, 0, 0, 0))(dict(model.named_parameters()), *INPUTS)
    first = torch.func.grad(loss_of(model))(dict(model.named_parameters()), *(each[:1] for each in INPUTS))
    torch.testing.assert_close({name: each[0] for name, each in found.items()}, first, rtol=1e-4, atol=1e-6)


def forward_mode(model):
    parameters = {name: parameter.detach().double() for name, parameter in model.named_parameters()}
    directions = {name: torch.randn_like(parameter) for name, parameter in parameters.items()}
    _, found = torch.func.jvp(lambda given: loss_of(model)(given, *INPUTS), (parameters,), (directions,))
    gradients = torch.func.grad(loss_of(model))(parameters, *INPUTS)
    torch.testing.assert_close(found, sum((gradients[name] * directions[name]).sum() for name in gradients))


def counted(model):
    with FlopCounterMode(display=False) as counter:
        model(*INPUTS)
    assert counter.get_total_flops() > 10_000


def recomputed(model):
    X = torch.randn(2, 3, 16, requires_grad=True)
    checkpoint(model.encoder.blks[0], X, INPUTS[2], use_reentrant=False).sum().backward()
    assert X.grad.abs().max() > 0


def backward_hook(model):
    seen = []
    for layer in (model.decoder.blks[0].ffn, model.decoder.blks[0].attention1):
        layer.register_full_backward_hook(lambda *_: seen.append(1))
    model(*INPUTS)[0].sum().backward()
    assert seen == [1, 1]


TOOLS = {
    "copy.deepcopy": lambda model: equal(model, copy.deepcopy(model)),
    "pickle": lambda model: equal(model, pickle.loads(pickle.dumps(model))),
    "torch.save of a whole model": lambda model: equal(model, saved(model)),
    "torch.device(meta), load_state_dict(assign=True)": on_no_device,
    "torch.jit.trace, torch.jit.freeze": traced,
    "torch.jit.script": torch.jit.script,
    "torch.fx.symbolic_trace": torch.fx.symbolic_trace,
    "torch.export with sizes of any number": of_any_size,
    "torch.export.save": exported,
    "torch.compile(fullgraph=True)": lambda model: equal(model, torch.compile(model, backend="eager", fullgraph=True)),
    "torch.ao.quantization.quantize_dynamic": quantized,
    "torch.nn.utils.parametrizations.weight_norm": parametrized(parametrizations.weight_norm),
    "torch.nn.utils.prune": parametrized(masked),
    "torch.func.functional_call": lambda model: equal(
        model, lambda *inputs: functional_call(model, dict(model.named_parameters()), inputs)
    ),
    "torch.func.grad": gradient,
    "torch.func.vmap of torch.func.grad": gradients_of_each_row,
    "torch.func.jvp": forward_mode,
    "torch.optim.swa_utils.AveragedModel": lambda model: equal(model, torch.optim.swa_utils.AveragedModel(model)),
    "torch.utils.checkpoint": recomputed,
    "torch.utils.flop_counter": counted,
    "register_full_backward_hook": backward_hook,
}
LONG = ("torch.export with sizes of any number", "torch.compile(fullgraph=True)")


@pytest.mark.parametrize("tool", [pytest.param(tool, marks=pytest.mark.long if tool in LONG else ()) for tool in TOOLS])
def test_what_the_page_says_of_a_tool_is_so(tool, model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # traces warn of what they hold fixed, and torch of tools that are to move
        check("torch", TOOLS, tool, model)


def test_weights_in_wrappers_of_torchs_own_keep_their_names(model, tmp_path):
    changed, backend = copy.deepcopy(model), tmb.get_backend("torch")
    changed.encoder.blks[0] = torch.compile(changed.encoder.blks[0], backend="eager")
    changed.decoder.blks[0] = checkpoint_wrapper(changed.decoder.blks[0])
    equal(model, changed)
    tmb.save(changed, tmp_path / "model")
    equal(model, tmb.load(tmp_path / "model", backend="torch").eval())
    backend.set_weights(changed, backend.get_weights(backend.build(CONFIG, seed=1)))
    equal(backend.build(CONFIG, seed=1).eval(), changed)


def test_what_holds_a_model_is_no_model_and_what_parametrizes_one_is_to_be_taken_off(model, tmp_path):
    holder = torch.optim.swa_utils.AveragedModel(model)
    for call in (
        lambda: tmb.save(holder, tmp_path / "model"),
        lambda: tmb.get_backend("torch").greedy(holder, SOURCE, LENS, 3),
    ):
        with pytest.raises(ConfigError, match=r"but this AveragedModel has none: give .* without what wraps it"):
            call()
    parametrizations.weight_norm(model.decoder.dense)
    with pytest.raises(CheckpointError, match=r"unexpected decoder\.dense\.parametrizations.* take that off, before you save"):
        tmb.save(model, tmp_path / "model")
    parametrize.remove_parametrizations(model.decoder.dense, "weight")
    tmb.save(model, tmp_path / "model")
    equal(model, tmb.load(tmp_path / "model", backend="torch").eval())
