"""Has two devices more than NumPy, both of them imagined."""

from transformer_mb.backends.numpy import NumPyBackend
from transformer_mb.errors import DeviceError


class WithGPUBackend(NumPyBackend):
    name = "with_gpu"

    @classmethod
    def devices(cls):
        return ["cpu", "cuda:0", "cuda:1"]

    def find_device(self, device):
        name = {None: "cpu", "cuda": "cuda:0", "gpu:1": "cuda:1"}.get(device, device)
        if name not in self.devices():
            raise DeviceError(f"The device of backend with_gpu must be one of {', '.join(self.devices())}, got {device!r}.")
        return name


BACKEND = WithGPUBackend
