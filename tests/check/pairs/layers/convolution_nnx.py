"""Three convolutions in flax nnx, which has the channels last, for PyTorch's images, which have them first."""

from flax import nnx


class Conv(nnx.Conv):
    """``nnx.Conv`` of images with the channels first. x [B, C, Y, X] -> [B, C', Y', X']."""

    def __call__(self, x):
        return super().__call__(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


class Convolutions(nnx.Module):
    """A strided, a dilated and a grouped convolution. x [B, 4, Y, X] -> three images by name."""

    def __init__(self, *, rngs):
        self.strided = Conv(4, 6, (3, 3), strides=2, padding=((1, 1), (1, 1)), rngs=rngs)
        self.dilated = Conv(4, 5, (2, 3), kernel_dilation=2, padding="VALID", rngs=rngs)
        self.grouped = Conv(4, 8, (3, 3), padding="SAME", feature_group_count=2, rngs=rngs)

    def __call__(self, x):
        return {"strided": self.strided(x), "dilated": self.dilated(x), "grouped": self.grouped(x)}
