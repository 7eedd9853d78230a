"""A framework's own Adam takes over a state that we wrote, and saves it again."""

from pathlib import Path

from porting import d2l_models
from transformer_mb.porting.proof.reference_runs import d2l_book


def of_torch(file, output):
    import torch
    from torch import nn

    saved = torch.load(file, weights_only=True)
    parameters = nn.ParameterDict({name.replace(".", "/"): nn.Parameter(t) for name, t in saved.items()})
    optimizer = torch.optim.Adam([parameters[name.replace(".", "/")] for name in saved])
    optimizer.load_state_dict(torch.load(Path(file).with_suffix(".optimizer.pt"), weights_only=True))
    torch.save({"model": saved, "optimizer": optimizer.state_dict()}, output)


def of_paddle(file, output):
    """D2L's own classes, made first in their process, so that Paddle numbers their parameters as we do."""
    import paddle

    book = d2l_book.make("paddle", d2l_models.BOOK)
    net = book.net
    d2l_models.load("paddle", book, file)
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    optimizer.set_state_dict(paddle.load(str(Path(file).with_suffix(".pdopt"))))
    # Paddle takes the state over when it makes its moments, at the first step: one without gradients.
    optimizer._create_accumulators(paddle.base.framework.default_main_program().global_block(), net.parameters())
    paddle.save(net.state_dict(), output)
    paddle.save(optimizer.state_dict(), str(Path(output).with_suffix(".pdopt")))


def of_flax(file, output):
    import numpy as np
    import optax
    from flax import serialization

    saved = serialization.msgpack_restore(Path(file).read_bytes())
    fresh = optax.adam(0.1).init(saved["params"])
    state = serialization.from_state_dict(fresh, saved["opt_state"])
    assert int(state[0].count) == int(np.asarray(saved["opt_state"]["0"]["count"]))
    Path(output).write_bytes(serialization.to_bytes({"params": saved["params"], "opt_state": state}))
