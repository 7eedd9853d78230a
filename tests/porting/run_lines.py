"""The lines that reports print, and the outputs of the models that they load, called as their users do."""

import numpy as np


def torch(model, source, lens, target):
    import torch

    with torch.no_grad():
        return model(*map(torch.from_numpy, (source, target, lens)))[0].numpy()


safetensors = torch


def paddle(model, source, lens, target):
    import paddle

    with paddle.no_grad():
        return model(*map(paddle.to_tensor, (source, target, lens)))[0].numpy()


def mxnet(model, source, lens, target):
    from mxnet import np as mnp

    return model(*(mnp.array(array, dtype="int32") for array in (source, target, lens)))[0].asnumpy()


def keras(model, source, lens, target):
    return model(source, target, lens)[0].numpy()


def flax(model, source, lens, target):
    return np.asarray(model(source, target, lens)[0])


def npz(model, source, lens, target):
    return model(source, target, lens)[0]


def canonical(model, source, lens, target):
    import transformer_mb as tmb

    return tmb.get_backend("numpy").logits(model, source, target, lens)


def embedded(table, positions, tokens):
    return (table[tokens] * table.shape[1] ** 0.5 + positions[: tokens.shape[1]]).astype(np.float32)


def stacks(framework, tensor, model, source, lens, target):
    """Embeddings scaled, D2L's positions, the stacks and the output: what the report says is left to the caller."""
    D = model["source_embedding"].weight.shape[1]
    angles = np.arange(20)[:, None] / 10000 ** (np.arange(0, D, 2) / D)
    positions = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(20, D)
    with framework.no_grad():
        tables = [model[f"{side}_embedding"].weight.numpy() for side in ("source", "target")]
        X, Y = (tensor(embedded(table, positions, ids)) for table, ids in zip(tables, (source, target), strict=True))
        valid = np.arange(source.shape[1]) < lens[:, None]
        causal = np.tri(target.shape[1], dtype=bool)
        return model["output"](called(framework, model["transformer"], tensor, X, Y, valid, causal)).numpy()


def called(framework, transformer, tensor, X, Y, valid, causal):
    if framework.__name__ == "paddle":  # True: may attend
        keys = tensor(valid[:, None, None, :])
        return transformer(X, Y, src_mask=keys, tgt_mask=tensor(causal[None, None]), memory_mask=keys)
    padding = tensor(~valid)  # True: may not
    return transformer(X, Y, tgt_mask=tensor(~causal), src_key_padding_mask=padding, memory_key_padding_mask=padding)


def torch_transformer(model, *batch):
    import torch

    return stacks(torch, torch.from_numpy, model, *batch)


def paddle_transformer(model, *batch):
    import paddle

    return stacks(paddle, paddle.to_tensor, model, *batch)


def marian(model, source, lens, target):
    import torch

    mask = np.arange(source.shape[1]) < lens[:, None]
    with torch.no_grad():
        ids, attended, wanted = map(torch.from_numpy, (source, mask.astype(np.int64), target))
        return model(input_ids=ids, attention_mask=attended, decoder_input_ids=wanted).logits.numpy()


def bert(model, source, lens, target):
    import torch

    mask = np.arange(source.shape[1]) < lens[:, None]
    with torch.no_grad():
        return model(*map(torch.from_numpy, (source, mask.astype(np.int64)))).last_hidden_state.numpy()


def onnx(model, source, lens, target):
    encoder, decoder = model
    inputs = {"source": source, "source_valid_lens": lens}
    outputs = dict(zip([one.name for one in encoder.get_outputs()], encoder.run(None, inputs), strict=True))
    wanted = {one.name: one for one in decoder.get_inputs()}
    fed = {"target": target, "source_valid_lens": lens, **{n: a for n, a in outputs.items() if n in wanted}}
    for name, one in wanted.items():
        if name.startswith("past_"):
            fed[name] = np.zeros((len(source), one.shape[1], 0, one.shape[3]), np.float32)
    return decoder.run(["logits"], fed)[0]


def ctranslate2(model, source, lens, target):
    """Of the first step, which follows the start token."""
    sources = [[str(token) for token in row[:length]] for row, length in zip(source.tolist(), lens.tolist(), strict=True)]
    options = {"beam_size": 1, "min_decoding_length": 0, "max_input_length": 0}
    found = model.translate_batch(sources, max_decoding_length=1, return_logits_vocab=True, **options)
    return np.stack([np.array(one.logits[0][-1]).reshape(1, -1) for one in found])


def outputs(batch, jobs):
    """By target, of the lines that load a model; its first moments where they load an optimizer: ``moments/TARGET/NUMBER``."""
    found, batch = {}, [batch[name] for name in ("source", "source_valid_lens", "target")]
    for target, lines in jobs.items():
        names = {}
        exec("\n".join(lines), names)
        found[target] = globals()[target](names["model"], *batch)
        if "optimizer" in names:
            moments = MOMENTS[target](names["model"], names["optimizer"])
            found |= {f"moments/{target}/{number:03d}": one.numpy() for number, one in enumerate(moments)}
    return found, {}


def torch_moments(model, optimizer):
    return [one["exp_avg"] for one in optimizer.state_dict()["state"].values()]


def paddle_moments(model, optimizer):
    """Paddle takes a state over at the first step, here one without gradients; its Linear is [in, out]."""
    import paddle

    optimizer._create_accumulators(paddle.base.framework.default_main_program().global_block(), model.parameters())
    state = optimizer.state_dict()
    moments = {parameter.name: state[f"{parameter.name}_moment1_0"] for parameter in model.parameters()}
    return [moment.t() if name.startswith("linear") and moment.ndim == 2 else moment for name, moment in moments.items()]


MOMENTS = {"torch": torch_moments, "paddle": paddle_moments}
