"""Three convolutions in flax nnx, which has the channels last, for PyTorch's images, which have them first."""

from flax import nnx


class Convolutions(nnx.Module):
    """A strided, a dilated and a grouped ``nnx.Conv``. x [B, 4, Y, X] -> three images by name."""

    def __init__(self, *, rngs):
        self.strided = nnx.Conv(4, 6, (3, 3), strides=2, padding=((1, 1), (1, 1)), rngs=rngs)
        self.dilated = nnx.Conv(4, 5, (2, 3), kernel_dilation=2, padding="VALID", rngs=rngs)
        self.grouped = nnx.Conv(4, 8, (3, 3), padding="SAME", feature_group_count=2, rngs=rngs)

    def __call__(self, x):
        x = x.transpose(0, 2, 3, 1)
        made = {"strided": self.strided(x), "dilated": self.dilated(x), "grouped": self.grouped(x)}
        return {name: image.transpose(0, 3, 1, 2) for name, image in made.items()}
