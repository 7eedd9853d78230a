"""Ten steps of PyTorch's optimizers, as functions of the weights and of the gradients of each step."""

import torch


def _steps(make, weights, gradients, clip=None, rates=()):
    """Return the weights after 1 and after all steps. weights: [n] and [m]; gradients: [steps, n] and [steps, m]."""
    own = [torch.nn.Parameter(array.detach().clone()) for array in weights]
    optimizer = make(own)
    after = []
    for step in range(len(gradients[0])):
        for weight, gradient in zip(own, gradients, strict=True):
            weight.grad = gradient[step].detach().clone()
        if clip:
            torch.nn.utils.clip_grad_norm_(own, clip)
        if step in rates:
            optimizer.param_groups[0]["lr"] /= 2
        optimizer.step()
        after.append([weight.detach().clone() for weight in own])
    return {"first": after[0], "last": after[-1]}


def adam(a, b, da, db, betas):
    return _steps(lambda own: torch.optim.Adam(own, 1e-2, betas, eps=1e-8), (a, b), (1e-7 * da, 1e-7 * db))


def adam_with_decay(a, b, da, db, betas):
    return _steps(lambda own: torch.optim.Adam(own, 1e-2, betas, weight_decay=0.1), (a, b), (da, db))


def adamw(a, b, da, db, betas):
    return _steps(lambda own: torch.optim.AdamW(own, 1e-2, betas, weight_decay=0.01), (a, b), (da, db))


def rmsprop(a, b, da, db, betas):
    return _steps(lambda own: torch.optim.RMSprop(own, 1e-3, alpha=0.9, eps=1e-6), (a, b), (1e-4 * da, 1e-4 * db))


def adagrad(a, b, da, db, betas):
    return _steps(lambda own: torch.optim.Adagrad(own, 1e-2, eps=0.0), (a, b), (da, db))


def momentum(a, b, da, db, betas):
    return _steps(lambda own: torch.optim.SGD(own, 1e-2, momentum=0.9), (a, b), (da, db), rates=(5,))


def clipped(a, b, da, db, betas):
    return _steps(lambda own: torch.optim.SGD(own, 1e-2), (a, b), (da, 5 * db), clip=1.0)


ALL = {f.__name__: f for f in (adam, adam_with_decay, adamw, rmsprop, adagrad, momentum, clipped)}


def every(a, b, da, db, betas):
    """Return each optimizer's weights by its name. a [n], b [m], da [steps, n], db [steps, m], betas: Adam's two."""
    return {name: steps(a, b, da, db, tuple(betas.tolist())) for name, steps in ALL.items()}
