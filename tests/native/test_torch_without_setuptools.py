"""torch.compile in an environment without setuptools, which its module of paths imports: in a process of its own."""

import os
import subprocess
import sys

PROGRAM = """
import sys

sys.modules["setuptools"] = None  # as if it were not installed
import torch
import transformer_mb as tmb
from transformer_mb.backends.torch.shortcuts.compiled_loss import compiled_loss

def compiled(X):
    return (X.sin() * 2.0).sum()

X = torch.ones(8, requires_grad=True)
try:
    torch.compile(compiled)(X)
except Exception as error:
    assert "No module named 'setuptools'" in str(error) or "halted" in str(error), error
else:
    raise SystemExit("PyTorch needs no setuptools any more, and we no stand-in")

torch.compiler.reset()
backend = tmb.get_backend("torch")
model = backend.build(tmb.presets.d2l(20, 20))
compiled_loss(model, backend.layer("MaskedSoftmaxCELoss"))
assert "setuptools" not in sys.modules and "setuptools.command" not in sys.modules
torch.compile(compiled)(X).backward()
print(float(X.grad[0]))
"""


def test_torch_compile_needs_no_setuptools(tmp_path):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}  # else what was compiled before would be taken
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert round(float(done.stdout), 4) == 1.0806  # 2 cos(1)
