"""Ways past the layers give what the layers give, and none goes around a layer that is watched or replaced.

A shortcut needs no line here: steps, encoders, compiled calls and loops are what searches and trainers run by themselves, and
``tiny`` has toys take the ways of large models.
"""

from contextlib import nullcontext
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.special import log_softmax

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.decoding.inputs import decoding_inputs
from transformer_mb.initialization import initial_weights
from transformer_mb.parity.computing.thresholds import tiny
from transformer_mb.registry import entries

SIZES = {
    "source_vocab_size": 11, "target_vocab_size": 13, "num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2,
    "decoder_num_heads": 2, "encoder_num_layers": 2, "decoder_num_layers": 2, "max_len": 16, "dropout": 0.0,
}  # fmt: skip
BIASES = dict.fromkeys(("encoder_attention_bias", "decoder_attention_bias", "ffn_bias", "output_bias"), True)
KINDS = {
    "d2l": {"compat_decode": "d2l"},
    "pre-norm": {"norm_position": "pre", "final_norm": True, **BIASES, "activation": "silu"},
    "rms": {"norm_kind": "rms_norm", "position": "learned", "position_offset": 2, "activation": "gelu", "token_types": 2},
    "heads of three": {
        "head_size": 3,
        "attention_scale": False,
        "output_scale": True,
        "encoder_attention_bias": True,
        "norm_position": "pre",
    },
    "fewer heads of keys": {"encoder_num_heads": 4, "decoder_num_heads": 8, "num_kv_heads": 2, **BIASES},
    "relative": {"position": "relative", "relative_buckets": 6, "relative_max_distance": 5, "norm_position": "pre"},
    "gated": {"norm_kind": "rms_norm", "norm_position": "pre", "activation": "silu", "ffn_gated": True, "ffn_bias": False},
    "no affine": {"norm_affine": False, "embedding_norm": True, "embedding_scale": False, "sinusoid_layout": "halves"},
    "tokens normed": {"embedding_norm": True, "decoder_embedding_norm": "tokens", "position": "learned"},
    "rotary": {"position": "rotary", "norm_position": "pre"},
    "rotary, interleaved": {"position": "rotary", "rotary_layout": "interleaved", "rotary_base": 100.0},
    "tied": {
        "share_embeddings": True,
        "tie_output": True,
        "output_bias": True,
        "source_vocab_size": 13,
        "suppress_ids": (5, 6),
    },
}
ALONE = {"architecture": "decoder", "source_vocab_size": None, "norm_position": "pre", "final_norm": True}
PROMPTED = {
    "sinusoidal": {},
    "rotary": {"position": "rotary"},
    "fewer heads of keys": {"position": "rotary", "decoder_num_heads": 4, "num_kv_heads": 2},
}
# A source of no token attends to nothing.
SOURCE, LENS = np.random.default_rng(0).integers(4, 11, (3, 6)), np.array([4, 0, 6])


def made(backend, kind, larger=1.0):
    """A model for use with weights of any numbers, and queries so large that a softmax needs its shift."""
    config, rng = TransformerConfig(**{**SIZES, **kind}), np.random.default_rng(1)
    weights = {name: array + 0.3 * rng.standard_normal(array.shape) for name, array in initial_weights(config, 0).items()}
    return backend.from_weights(config, {name: array * (larger if "W_q" in name else 1.0) for name, array in weights.items()})


def stepped(backend, model, source, lens, beam, tokens, rows):
    """Log-probabilities of steps with these tokens [steps, B * beam], the rows reordered after each; and what each had read."""
    inputs, _ = decoding_inputs(model.config, source, lens, 8, None, "beam")
    session, read, found = backend.start_beam(model, inputs, 8, beam), np.zeros((tokens.shape[1], 0), int), []
    for step in tokens:
        read = np.concatenate([read, step[:, None]], axis=1)
        found.append((session.log_probabilities(step), read))
        session.reorder(rows)
        read = read[rows]
    return found


def agrees(config, got, logits):
    logits = np.array(logits)
    logits[:, list(config.suppress_ids)] = -np.inf
    np.testing.assert_allclose(got, log_softmax(logits, axis=-1), rtol=1e-9, atol=1e-9)


@pytest.mark.long(but=3)
@pytest.mark.parametrize("sizes", ["small", "large"])
@pytest.mark.parametrize(("beam", "larger"), [(1, 50.0), (2, 1.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_give_what_the_layers_give(backend, kind, beam, larger, sizes):
    rng = np.random.default_rng(2)
    with tiny(backend.name) if sizes == "large" else nullcontext():
        model = made(backend, KINDS[kind], larger)
        rows = (np.arange(3)[:, None] * beam + rng.integers(0, beam, (3, beam))).reshape(-1)
        found = stepped(backend, model, SOURCE, LENS, beam, rng.integers(4, 13, (3, 3 * beam)), rows)
    enc_outputs, lens = (np.repeat(array, beam, axis=0) for array in (backend.encode(model, SOURCE, LENS), LENS))
    for got, read in found:
        state = [enc_outputs, lens, [None, None]]
        for tokens in read.T:
            logits, state = backend.apply(model.decoder, tokens[:, None], state)
        agrees(model.config, got, logits[:, 0])


def test_a_source_may_be_longer_than_the_model_is_wide(backend):
    """All rows end before the source's last step, which is hidden from each."""
    model, lens = made(backend, {"num_hiddens": 4}), np.full(3, 5)
    state = [backend.encode(model, SOURCE, lens), lens, [None, None]]
    ((got, read),) = stepped(backend, model, SOURCE, lens, 1, np.array([[7, 9, 4]]), np.arange(3))
    agrees(model.config, got, backend.apply(model.decoder, read, state)[0][:, 0])


@pytest.mark.parametrize("kind", PROMPTED)
def test_steps_after_prompts_give_what_the_layers_give(backend, kind):
    model, prompts, lens = made(backend, ALONE | PROMPTED[kind]), np.array([[4, 5, 6, 7], [8, 9, 4, 4]]), np.array([4, 2])
    tokens = np.array([[7, 9], [10, 11]])
    for got, read in stepped(backend, model, prompts, lens, 1, tokens, np.arange(2)):
        whole = [[*prompt[: length - 1], *row] for prompt, length, row in zip(prompts, lens, read, strict=True)]
        agrees(model.config, got, [backend.logits(model, None, np.array([row]))[0, -1] for row in whole])


def searched(backend, model):
    """The tokens of several searches: what is compiled is so by the last of them."""
    return [backend.greedy(model, SOURCE[:2], LENS[:2], 4) for _ in range(4)]


def has(package, module):
    """A backend of another package may have no shortcuts at all."""
    try:
        return find_spec(f"{package}.{module}") is not None
    except ModuleNotFoundError:
        return False


def call_of(layer):
    return next(name for name in ("call", "forward", "__call__") if name in vars(type(layer)))


@pytest.mark.parametrize(("side", "shortcut"), [("encoder", "prepared_layers"), ("decoder", "decoding_steps")])
def test_a_shortcut_is_taken(backend, backend_name, side, shortcut, monkeypatch):
    if not has(f"{entries()[backend_name].module.partition(':')[0]}.shortcuts", shortcut):
        pytest.skip("what is compiled calls the blocks")
    expected, model = searched(backend, made(backend, {})), made(backend, {})
    kind = type(next(iter(getattr(model, side).blks)))
    monkeypatch.setattr(kind, call_of(next(iter(getattr(model, side).blks))), None)
    assert searched(backend, model) == expected


def by_class(layer, around):
    name = call_of(layer)
    own = getattr(type(layer), name)
    layer.__class__ = type("Own", (type(layer),), {name: lambda self, *given, **options: around(own(self, *given, **options))})


def by_itself(layer, around):
    name = call_of(layer)
    own = getattr(layer, name)
    setattr(layer, name, lambda *given, **options: around(own(*given, **options)))


@pytest.mark.long(but=3)
@pytest.mark.parametrize("replace", [by_class, by_itself])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_layer_that_is_replaced_is_called(backend, side, replace):
    """By the searches, whatever they have compiled of the model before, and by a trainer's step."""
    model, seen = made(backend, {}), []
    expected = searched(backend, model)
    ffn = next(iter(getattr(model, side).blks)).ffn
    if replace is by_itself and call_of(ffn) == "__call__":
        pytest.skip("Python reads __call__ of the class alone")
    replace(ffn, lambda Y: seen.append(1) or Y)
    assert searched(backend, model) == expected and seen
    seen.clear()
    full = np.array([6, 6, 6])
    batch = Batch(SOURCE, full, SOURCE, SOURCE, full)
    loss = backend.trainer(model, optimizer="sgd", learning_rate=1e-9).step(batch)
    assert seen and float(loss) == pytest.approx(backend.loss_and_gradients(made(backend, {}), batch)[0], rel=1e-9)
