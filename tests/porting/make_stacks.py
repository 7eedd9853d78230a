"""torch.nn.Transformer or paddle.nn.Transformer with random weights, saved, and what it computes.

For post and pre: ``NAME.pt`` (or ``.pdparams``), and ``NAME.npz`` with the inputs and the outputs.
Bare stacks get unit vectors; ``wrapped`` has embeddings, D2L's positions and an output of its own.
"""

from pathlib import Path

import numpy as np

from porting.small_model import LENS, SOURCE, TARGET

D, F, HEADS, V = 16, 24, 4, 13
PADDING = np.arange(5) >= LENS[:, None]


def positions(steps, width):
    angles = np.arange(steps)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(steps, width).astype(np.float32)


def save_torch(folder):
    import torch
    from torch import nn

    folder = Path(folder)

    def noisy(module):
        for parameter in module.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
        return module

    class Wrapped(nn.Module):
        def __init__(self, width=D):
            super().__init__()
            self.width, self.words_in, self.words_out = width, nn.Embedding(V, width), nn.Embedding(V, width)
            self.core = nn.Transformer(width, HEADS, 2, 1, F, 0.0, "gelu", batch_first=True)
            self.project = nn.Linear(width, V)

        def forward(self, source, target, *masks):
            vectors = [
                table(ids) * self.width**0.5 + torch.from_numpy(positions(ids.shape[1], self.width))
                for table, ids in ((self.words_in, source), (self.words_out, target))
            ]
            states = self.core(*vectors, tgt_mask=masks[0], src_key_padding_mask=masks[1], memory_key_padding_mask=masks[1])
            return self.project(states)

    torch.manual_seed(0)
    source, target, padding = map(torch.from_numpy, (SOURCE, TARGET, PADDING))
    causal = nn.Transformer.generate_square_subsequent_mask(4) < 0
    for order in ("post", "pre"):
        net = noisy(nn.Transformer(D, HEADS, 2, 3, F, 0.0, batch_first=True, norm_first=order == "pre"))
        eye = torch.eye(D)
        states = net(eye[source], eye[target], tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        put(torch, folder, f"transformer_{order}", net, logits=states)
        layer = nn.TransformerEncoderLayer(D, HEADS, F, 0.0, batch_first=True, norm_first=order == "pre")
        net = noisy(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
        put(torch, folder, f"encoder_{order}", net, encoder=net(eye[source], src_key_padding_mask=padding))
    net = noisy(Wrapped())
    put(torch, folder, "wrapped", net, logits=net(source, target, causal, padding))
    # A narrow file, whose owner computes in float32; its embeddings are scaled by what float16 cannot hold.
    net = noisy(Wrapped(24)).half()
    torch.save(net.state_dict(), folder / "narrow.pt")
    np.savez(folder / "narrow.npz", logits=net.float()(source, target, causal, padding).detach().numpy())


def put(torch, folder, name, net, **outputs):
    torch.save(net.state_dict(), folder / f"{name}.pt")
    np.savez(folder / f"{name}.npz", **{key: value.detach().numpy() for key, value in outputs.items()})


def save_paddle(folder):
    import paddle

    folder = Path(folder)
    paddle.seed(0)
    eye = np.eye(D, dtype=np.float32)
    source, target = paddle.to_tensor(eye[SOURCE]), paddle.to_tensor(eye[TARGET])
    valid, causal = paddle.to_tensor(~PADDING[:, None, None]), paddle.to_tensor(np.tri(4, dtype=bool)[None, None])
    for order in ("post", "pre"):
        net = paddle.nn.Transformer(D, HEADS, 2, 3, F, 0.0, normalize_before=order == "pre")
        for parameter in net.parameters():
            parameter.set_value(parameter + 0.1 * paddle.randn(parameter.shape))
        states = net(source, target, src_mask=valid, tgt_mask=causal, memory_mask=valid)
        paddle.save(net.state_dict(), str(folder / f"transformer_{order}.pdparams"))
        np.savez(folder / f"transformer_{order}.npz", logits=states.numpy())
    net = paddle.nn.Transformer(D, HEADS, 2, 3, F, 0.0, bias_attr=False)
    states = net(source, target, src_mask=valid, tgt_mask=causal, memory_mask=valid)
    paddle.save(net.state_dict(), str(folder / "unbiased.pdparams"))
    np.savez(folder / "unbiased.npz", logits=states.numpy())
