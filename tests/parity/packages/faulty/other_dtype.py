"""torch, whose layers return another dtype than their model's: in the answers' arrays nobody could tell it."""

import torch

from transformer_mb.backends.torch import TorchBackend

RETURNED = {"bfloat16": torch.float32, "float16": torch.float64, "float32": torch.bfloat16, "float64": torch.float32}


class OtherDtypeBackend(TorchBackend):
    name = "other_dtype"

    def _call(self, layer, inputs, options, training):
        return super()._call(layer, inputs, options, training).to(RETURNED[self.dtype])


BACKEND = OtherDtypeBackend
