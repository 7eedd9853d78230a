"""Modules as their owners write them around the stacks of torch or paddle, saved, and what they compute.

In the folder: ``NAME.safetensors`` (or ``.pdparams``), and ``NAME.npz`` with the outputs.
"""

from pathlib import Path

import numpy as np

from porting.small_model import LENS, SOURCE, TARGET

D, F, HEADS, V, STEPS = 16, 24, 4, 13, 40


def table(kind):
    """[STEPS, D] float32, as the tutorials compute it; ``cosines first`` is nobody's but its owner's."""
    angles = np.arange(STEPS, dtype=np.float32)[:, None] * np.exp(np.arange(0, D, 2) * np.float32(-np.log(1e4) / D))
    parts = {"halves": [np.sin(angles), np.cos(angles)], "cosines first": [np.cos(angles), np.sin(angles)]}
    if kind in parts:
        return np.concatenate(parts[kind], axis=1).astype(np.float32)
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(STEPS, D).astype(np.float32)


def save_torch(folder):
    import torch
    from safetensors.torch import save_file
    from torch import nn

    folder = Path(folder)
    torch.manual_seed(0)
    source, target, padding = map(torch.from_numpy, (SOURCE, TARGET, np.arange(5) >= LENS[:, None]))
    options = {"dropout": 0.0, "batch_first": True}

    def causal(steps):
        return nn.Transformer.generate_square_subsequent_mask(steps)

    class Both(nn.Module):
        """Two stacks side by side, which have no final norm unless asked, and a table as a buffer [T, 1, D]."""

        def __init__(self, kind, shared=False):
            super().__init__()
            self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, F, **options), 2, enable_nested_tensor=False)
            self.dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, HEADS, F, **options), 3)
            self.words, self.out = nn.Embedding(V, D), nn.Linear(D, V)
            self.target = self.words if shared else nn.Embedding(V, D)
            if shared:
                self.out.weight = self.words.weight
            if kind == "learned":
                self.positions = nn.Parameter(torch.randn(1, STEPS, D))
            else:
                self.register_buffer("pe", torch.from_numpy(table(kind))[:, None])

        def embedded(self, layer, tokens):
            rows = self.positions[0] if hasattr(self, "positions") else self.pe[:, 0]
            return layer(tokens) * D**0.5 + rows[: tokens.shape[1]]

        def forward(self):
            memory = self.enc(self.embedded(self.words, source), src_key_padding_mask=padding)
            X = self.embedded(self.target, target)
            return self.out(self.dec(X, memory, tgt_mask=causal(4), memory_key_padding_mask=padding))

    class Language(nn.Module):
        """PyTorch's own tutorial: an encoder's layers called with a causal mask."""

        def __init__(self):
            super().__init__()
            self.transformer_encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, F, **options), 2)
            self.embedding, self.linear = nn.Embedding(V, D), nn.Linear(D, V)
            self.pos_encoder = nn.Module()
            self.pos_encoder.register_buffer("pe", torch.from_numpy(table("interleaved"))[:, None])

        def forward(self):
            X = self.embedding(target) * D**0.5 + self.pos_encoder.pe[:4, 0]
            return self.linear(self.transformer_encoder(X, mask=causal(4)))

    class Blocks(nn.Module):
        """Layers in a list of one's own, pre-norm, with a final norm of another name."""

        def __init__(self):
            super().__init__()
            layers = [nn.TransformerEncoderLayer(D, HEADS, F, activation="gelu", norm_first=True, **options) for _ in range(2)]
            self.blocks, self.ln_f = nn.ModuleList(layers), nn.LayerNorm(D)
            self.wte, self.wpe, self.head = nn.Embedding(V, D), nn.Embedding(STEPS, D), nn.Linear(D, V, bias=False)

        def forward(self):
            X = self.wte(target) + self.wpe(torch.arange(4))
            for block in self.blocks:
                X = block(X, src_mask=causal(4))
            return self.head(self.ln_f(X))

    models = {kind: Both(kind) for kind in ("halves", "interleaved", "cosines first", "learned")}
    models |= {"shared": Both("halves", shared=True), "language": Language(), "blocks": Blocks()}
    for name, model in models.items():
        for parameter in model.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
        with torch.no_grad():
            np.savez(folder / f"{name}.npz", logits=model.eval()().numpy())
        # An output and embeddings that are one are saved twice, as torch.save does.
        save_file({key: value.clone() for key, value in model.state_dict().items()}, folder / f"{name}.safetensors")


def save_paddle(folder):
    import paddle

    nn, folder = paddle.nn, Path(folder)
    paddle.seed(0)
    source, target, valid = map(paddle.to_tensor, (SOURCE, TARGET, (np.arange(5) < LENS[:, None])[:, None, None]))
    causal, rows = paddle.to_tensor(np.tri(4, dtype=bool)[None, None]), paddle.to_tensor(table("halves"))

    class Both(nn.Layer):
        def __init__(self):
            super().__init__()
            self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, F, 0.0), 2)
            self.dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, HEADS, F, 0.0), 3)
            self.words, self.target, self.out = nn.Embedding(V, D), nn.Embedding(V, D), nn.Linear(D, V)
            self.register_buffer("pe", rows.unsqueeze(0))

        def forward(self):
            memory = self.enc(self.words(source) * D**0.5 + self.pe[:, :5], valid)
            return self.out(self.dec(self.target(target) * D**0.5 + self.pe[:, :4], memory, causal, valid))

    class Language(nn.Layer):
        def __init__(self):
            super().__init__()
            self.net = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, F, 0.0), 2)
            self.embedding, self.linear = nn.Embedding(V, D), nn.Linear(D, V)

        def forward(self):
            return self.linear(self.net(self.embedding(target) * D**0.5 + rows[:4], causal))

    for name, model in {"separate": Both(), "language": Language()}.items():
        np.savez(folder / f"{name}.npz", logits=model().numpy())
        paddle.save(model.state_dict(), str(folder / f"{name}.pdparams"))
