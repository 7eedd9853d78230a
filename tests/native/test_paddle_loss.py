"""What Paddle's own sums lose, our loss does not."""

import numpy as np
import paddle

from transformer_mb.backends.paddle import MaskedSoftmaxCELoss


def test_the_gradient_over_many_words_has_all_its_digits():
    """Paddle's own sum of so many exponentials loses one."""
    values = 3.0 * np.random.default_rng(0).standard_normal((1, 64, 8001))
    logits = paddle.to_tensor(values.astype(np.float32), stop_gradient=False)
    MaskedSoftmaxCELoss()(logits, paddle.zeros([1, 64], "int64"), paddle.to_tensor([64])).sum().backward()
    shares = np.exp(np.float64(logits.numpy()))
    exact = shares / shares.sum(axis=-1, keepdims=True)
    exact[..., 0] -= 1.0
    got = 64.0 * np.float64(logits.grad.numpy())
    assert np.linalg.norm((got - exact)[..., 1:]) < 6e-7 * np.linalg.norm(exact[..., 1:])
