"""What torch.export and torch.compile make of layers and models."""

import os
import subprocess
import sys

import pytest
import torch
from torch.export import Dim, export

import transformer_mb as tmb
from transformer_mb.backends.torch import MultiHeadAttention
from transformer_mb.backends.torch.dropout import Dropout

B, T, S = (Dim(name, min=1, max=64) for name in ("B", "T", "S"))


def test_attention_is_exported_for_any_size():
    attention = MultiHeadAttention(16, 16, 16, 16, 4, 0.1).eval()
    sizes = {"queries": {0: B, 1: T}, "keys": {0: B, 1: S}, "values": {0: B, 1: S}, "valid_lens": {0: B}}
    queries, keys, lens = torch.randn(3, 7, 16), torch.randn(3, 5, 16), torch.tensor([5, 3, 0])
    exported = export(attention, (queries, keys, keys, lens), dynamic_shapes=sizes, strict=False).module()
    for rows in (1, 4):
        queries, keys, lens = torch.randn(rows, 9, 16), torch.randn(rows, 20, 16), torch.randint(0, 20, (rows,))
        torch.testing.assert_close(exported(queries, keys, keys, lens), attention(queries, keys, keys, lens))


@pytest.mark.filterwarnings("ignore:The tensor attributes .* were assigned during export")  # tables of positions
def test_a_model_is_exported_for_any_size():
    model = tmb.get_backend("torch").build(tmb.presets.d2l(20, 20)).eval()

    def batch(rows, source_steps, target_steps):
        source, target = torch.randint(0, 20, (rows, source_steps)), torch.randint(0, 20, (rows, target_steps))
        return source, target, torch.randint(1, source_steps + 1, (rows,))

    sizes = ({0: B, 1: S}, {0: B, 1: T}, {0: B})
    exported = export(model, batch(3, 7, 5), dynamic_shapes=sizes, strict=False).module()
    for rows in (1, 4):
        given = batch(rows, 9, 6)
        torch.testing.assert_close(exported(*given)[0], model(*given)[0])


# In an environment without setuptools, which torch.compile's module of paths imports: in a process of its own.
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


@pytest.mark.long
def test_torch_compile_needs_no_setuptools(tmp_path):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}  # else what was compiled before would be taken
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert round(float(done.stdout), 4) == 1.0806  # 2 cos(1)


def test_a_compiled_dropout_takes_the_mask_that_it_is_given():
    dropout, X = Dropout(0.5), torch.ones(4, 64)
    compiled = torch.compile(dropout, backend="eager", fullgraph=True)
    assert set(compiled(X).unique().tolist()) == {0.0, 2.0}
    dropout.keep = torch.arange(256).reshape(4, 64) % 3 == 0
    assert torch.equal(compiled(X), dropout.keep * 2.0)
