"""Our layers and models compiled by Paddle's to_static, and saved as its programs."""

import numpy as np
import paddle
import pytest
from paddle import nn

from transformer_mb.backends.paddle import EncoderBlock, MultiHeadAttention, PaddleBackend
from transformer_mb.backends.paddle.linear import without_row
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ShapeError

ZERO = TransformerConfig(
    source_vocab_size=13, target_vocab_size=13, num_hiddens=8, ffn_num_hiddens=16, padding_vector_zero=True
)


def test_a_compiled_block_computes_the_same():
    block = EncoderBlock(8, 8, 8, 8, 8, 8, 16, 2, 0.1)
    block.eval()
    X, valid_lens = paddle.randn([2, 5, 8]), paddle.to_tensor([5, 2])
    expected = block(X, valid_lens).numpy()
    compiled = paddle.jit.to_static(block, full_graph=True)
    np.testing.assert_allclose(compiled(X, valid_lens).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("tied", [False, True])
def test_a_compiled_model_gives_the_pad_row_no_gradient(tied):
    """Whatever the row holds it is looked up and projected by, compiled as it is in a dynamic graph."""
    config = ZERO.replace(share_embeddings=tied, tie_output=tied, dropout=0.0)
    model = PaddleBackend(dtype="float64").build(config, seed=1)
    tables = {id(side.embedding.weight): side.embedding.weight for side in (model.encoder, model.decoder)}
    with paddle.no_grad():
        for table in tables.values():
            table[config.pad_id] = paddle.full([config.num_hiddens], 0.5, "float64")
    model.train()
    tokens, lens = paddle.to_tensor([[4, 5, config.pad_id]]), paddle.to_tensor([2])

    def answer(call):
        logits, _ = call(tokens, tokens, lens)
        gradients = paddle.grad(logits.square().sum(), model.parameters())
        assert not any(gradient[config.pad_id].any() for gradient in gradients if gradient.shape == [13, config.num_hiddens])
        return [logits, *gradients]

    for got, expected in zip(answer(paddle.jit.to_static(model.forward, full_graph=True)), answer(model), strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)


def test_an_exported_model_whose_pad_row_stays_zero(tmp_path):
    config = ZERO.replace(share_embeddings=True, tie_output=True, position="learned")
    backend = PaddleBackend()
    model = backend.build(config, seed=1)
    model.eval()
    tokens, lens = np.array([[4, 5, config.pad_id]]), np.array([2])
    specs = [paddle.static.InputSpec(shape, "int64") for shape in ([1, 3], [1, 3], [1])]
    paddle.jit.save(model, str(tmp_path / "model"), input_spec=specs)
    logits, *_ = paddle.jit.load(str(tmp_path / "model"))(*map(paddle.to_tensor, (tokens, tokens, lens)))
    np.testing.assert_allclose(logits.numpy(), backend.logits(model, tokens, tokens, lens), atol=1e-5)


def saved(tmp_path, *shapes):
    backend = PaddleBackend()
    model = backend.build(ZERO, seed=1)
    model.eval()
    paddle.jit.save(model, str(tmp_path / "model"), input_spec=[paddle.static.InputSpec(shape, "int64") for shape in shapes])
    return backend, model, paddle.jit.load(str(tmp_path / "model"))


def test_an_exported_model_has_its_sinusoids(tmp_path):
    backend, model, program = saved(tmp_path, [1, 3], [1, 3], [1])
    tokens, lens = np.array([[4, 5, 6]]), np.array([2])
    logits, *_ = program(*map(paddle.to_tensor, (tokens, tokens, lens)))
    np.testing.assert_allclose(logits.numpy(), backend.logits(model, tokens, tokens, lens), atol=1e-5)


def test_a_program_without_sizes_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(ShapeError, match=r"must have sizes that its InputSpec gives, got \[-1, -1\]"):
        saved(tmp_path, [None, None], [None, None], [None])
    open_sizes = [paddle.static.InputSpec([None, None, 8], "float32")]
    for layer in (PaddleBackend().build(ZERO).encoder.blks[0], MultiHeadAttention(8, 8, 8, 8, 2, 0.0)):
        given = open_sizes if isinstance(layer, EncoderBlock) else open_sizes * 3
        with pytest.raises(ShapeError, match=r"keys must have sizes that its InputSpec gives, got \[-1, -1, 8\]"):
            paddle.jit.to_static(layer, input_spec=given, full_graph=True).forward.concrete_program  # noqa: B018


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_row_without_gradient_in_every_format(dtype):
    table = paddle.rand([5, 3]).astype(dtype)
    table.stop_gradient = False
    kept = without_row(table, 2)
    assert (kept == table).all() and kept.dtype == table.dtype
    (gradient,) = paddle.grad(nn.functional.embedding(paddle.to_tensor([[1, 2, 2, 4]]), kept).astype("float32").sum(), [table])
    np.testing.assert_array_equal(gradient.astype("float32").numpy()[:, 0], [0, 1, 0, 0, 1])
