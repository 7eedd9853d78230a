"""Ten steps of optax' optimizers, set as PyTorch's are, as functions of the weights and of the gradients of each step."""

import jax.numpy as jnp
import optax


def _steps(optimizer, weights, gradients):
    """Return the weights after 1 and after all steps. weights: [n] and [m]; gradients: [steps, n] and [steps, m]."""
    own, after = list(weights), []
    state = optimizer.init(own)
    for step in range(len(gradients[0])):
        updates, state = optimizer.update([gradient[step] for gradient in gradients], state, own)
        own = optax.apply_updates(own, updates)
        after.append(own)
    return {"first": after[0], "last": after[-1]}


def clip(most):
    """Scale all gradients by one factor so that their common norm is at most this, as PyTorch does: 1e-6 in the divisor."""

    def update(updates, state, params=None):
        factor = jnp.minimum(1.0, most / (optax.global_norm(updates) + 1e-6))
        return [factor * update for update in updates], state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


def _halved_at(step, rate):
    """A rate that is halved from this step on."""
    return lambda count: jnp.where(count < step, rate, rate / 2)


def _momentum(rate, decay):
    """A velocity of gradients, times the rate of the step."""
    return optax.chain(optax.trace(decay), optax.scale_by_learning_rate(rate))


def every(a, b, da, db, betas):
    """Return each optimizer's weights by its name. a [n], b [m], da [steps, n], db [steps, m], betas: Adam's two.

    Betas are inputs, so that both sides have the same in float32. Of Python's 0.999 optax takes 1 - beta exactly, but beta^t of
    the nearest float32, which is off by up to 2^-25: 1 - beta^t is off by a share of 1.5e-5 of each step, in ten steps of 0.01
    by twelve last places of a weight of 1.
    """
    w, g = (a, b), (da, db)
    return {
        "adam": _steps(optax.adam(1e-2, *betas, eps=1e-8), w, (1e-7 * da, 1e-7 * db)),
        "adam_with_decay": _steps(optax.chain(optax.add_decayed_weights(0.1), optax.adam(1e-2, *betas)), w, g),
        "adamw": _steps(optax.adamw(1e-2, *betas, weight_decay=0.01), w, g),
        "rmsprop": _steps(optax.rmsprop(1e-3, decay=0.9, eps=1e-6, eps_in_sqrt=False), w, (1e-4 * da, 1e-4 * db)),
        "adagrad": _steps(optax.chain(optax.scale_by_rss(0.0, 0.0), optax.scale_by_learning_rate(1e-2)), w, g),
        "momentum": _steps(_momentum(_halved_at(5, 1e-2), 0.9), w, g),
        "clipped": _steps(optax.chain(clip(1.0), optax.sgd(1e-2)), w, (da, 5 * db)),
    }
