"""A function in PyTorch with a kink, which two orders of a sum place otherwise in float32."""

import torch


def summed(x, y, z, late=False, wrong=False):
    """Return relu(x + y + z).

    ``late`` adds y and z first. ``wrong`` lets gradients through below zero too, down to -1, which no output shows.
    """
    total = x + (y + z) if late else (x + y) + z
    output = torch.relu(total)
    if wrong:
        output = output + (total - total.detach()) * ((total < 0.0) & (total > -1.0))
    return output
