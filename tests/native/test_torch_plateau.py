"""The schedule ``plateau`` against torch.optim.lr_scheduler.ReduceLROnPlateau."""

import numpy as np
import pytest
import torch

from transformer_mb.training import TrainingRecipe, TrainingState
from transformer_mb.training.records import ValidationRecord


@pytest.mark.parametrize("patience", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_rate_is_lowered_where_torch_lowers_it(patience, seed):
    """Torch waits for one more than its patience, and takes no improvement below its threshold for one."""
    losses = np.random.default_rng(seed).random(60).round(3)
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.7, patience=patience - 1, threshold=0.0, eps=0.0)
    recipe, state = TrainingRecipe(schedule="plateau", plateau_factor=0.7, plateau_patience=patience), TrainingState()
    for step, loss in enumerate(losses, start=1):
        theirs.step(loss)
        state.validated(ValidationRecord(step, step, float(loss)), recipe, closing=False)
        assert recipe.plateau_factor ** len(state.lowered) == pytest.approx(optimizer.param_groups[0]["lr"])
    assert len(state.lowered) > 5
