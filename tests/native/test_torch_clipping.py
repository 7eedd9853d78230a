"""torch's own norm of a large array loses digits in float32; ours does not."""

import numpy as np
import torch

from transformer_mb.backends.torch.optimizers import clip_gradients


def test_a_large_gradient_is_clipped_to_its_norm():
    random = np.random.default_rng(0)
    gradient = torch.from_numpy(random.standard_normal((8001, 256)).astype(np.float32))
    gradient[1593] *= 300.0
    small = torch.ones(3)
    exact = np.sqrt(np.sum(np.float64(gradient) ** 2) + 3.0)
    clip_gradients([gradient, small], 1.0)
    assert abs(float(small[0]) * exact - 1.0) < 1e-6
