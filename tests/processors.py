"""The tests again, by settings that make one processor take another's code paths: what each run held.

    python tests/processors.py [VARIABLE=VALUE ...]

Another processor rounds otherwise, so that no test may rest on how this one does. A run under a setting is of the tests
whose numbers it can change; whether it changes any here is measured first, since a setting that is misspelled, or that
a framework's build ignores, proves nothing.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[1]
ALL = tuple(BUILT_IN)


class Setting(NamedTuple):
    """Which backends' tests a variable concerns, and which of the other tests."""

    variable: str
    value: str
    backends: tuple[str, ...]
    others: tuple[str, ...]


# Trained and computed by NumPy, or by torch.
NUMPY = ("reference", "core", "cli", "errata", "examples", "porting/test_onnx.py", "porting/test_ctranslate2.py")
TORCH = ("errata", "examples", "porting/test_stacks.py", "porting/test_marian.py", "porting/test_d2l.py")

SETTINGS = (
    Setting("OPENBLAS_CORETYPE", "Haswell", ("numpy", "mxnet"), NUMPY),
    Setting("OPENBLAS_CORETYPE", "SkylakeX", ("numpy",), NUMPY),
    Setting("ATEN_CPU_CAPABILITY", "avx2", ("torch",), TORCH),
    Setting("ATEN_CPU_CAPABILITY", "default", ("torch",), TORCH),
    # The float32 products of torch and of Paddle are MKL's, which oneDNN's setting does not change.
    Setting("MKL_CBWR", "COMPATIBLE", ("torch", "paddle"), TORCH),
    Setting("ONEDNN_MAX_CPU_ISA", "AVX2", ("tensorflow",), ()),
    # TensorFlow's XLA gives the same bits with it as without.
    Setting("XLA_FLAGS", "--xla_cpu_max_isa=AVX2", ("jax",), ()),
    Setting("OMP_NUM_THREADS", "2", ALL, (*NUMPY, "porting/test_stacks.py", "porting/test_marian.py", "porting/test_d2l.py")),
)

# Each makes ``result`` of X [64, 96] and W [96, 80], float32.
PROGRAMS = {
    "numpy": "result = np.exp(X @ W)",
    "torch": "import torch; result = torch.softmax(torch.from_numpy(X) @ torch.from_numpy(W), -1).numpy()",
    "tensorflow": "import tensorflow as tf; result = tf.nn.softmax(tf.constant(X) @ tf.constant(W)).numpy()",
    "paddle": "import paddle; result = paddle.nn.functional.softmax(paddle.to_tensor(X) @ paddle.to_tensor(W)).numpy()",
    "mxnet": (
        "import transformer_mb.backends.mxnet; from mxnet import np as mnp, npx\n"
        "result = npx.softmax(mnp.dot(mnp.array(X), mnp.array(W))).asnumpy()"
    ),
    "jax": "import jax; result = np.asarray(jax.jit(lambda x, w: jax.nn.softmax(x @ w))(X, W))",
}
PROBE = """
import hashlib, numpy as np
draw = np.random.default_rng(0).standard_normal
X, W = draw((64, 96)).astype(np.float32), draw((96, 80)).astype(np.float32)
{program}
print(hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest())
"""


def environment(setting: Setting) -> dict[str, str]:
    """Ours, and the setting; what XLA_FLAGS holds already stays. Names in Inductor's folder tell no instructions apart."""
    before = os.environ.get(setting.variable, "") if setting.variable == "XLA_FLAGS" else ""
    cache = ROOT / "build" / "inductor" / f"{setting.variable}={setting.value}"
    own = {"PYTHONPATH": str(ROOT), "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    return {**os.environ, **own, setting.variable: f"{before} {setting.value}".strip()}


def digest(backend: str, variables: dict[str, str]) -> str:
    program = PROBE.format(program=PROGRAMS[backend])
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"The probe of {backend} failed:\n{done.stderr[-2000:]}")
    return done.stdout.split()[-1]


def run(setting: Setting) -> bool:
    """Run the tests that a setting concerns; says of each run what it held."""
    name, variables = f"{setting.variable}={setting.value}", environment(setting)
    plain = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    changed = [backend for backend in setting.backends if digest(backend, variables) != digest(backend, plain)]
    print(f"{name}: other numbers in {', '.join(changed) or 'none: this proves nothing here'}", flush=True)
    runs = [["--backend", backend] for backend in setting.backends]
    if setting.others:
        runs.append([f"tests/{path}" for path in setting.others])
    held = True
    for arguments in runs:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, cwd=ROOT)
        print(f"    {' '.join(arguments)}: {done.stdout.strip().splitlines()[-1]}", flush=True)
        if done.returncode:
            held = False
            print(done.stdout[-6000:], done.stderr[-2000:], flush=True)
    return held


def main(names: list[str]) -> int:
    by_name = {f"{setting.variable}={setting.value}": setting for setting in SETTINGS}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        print(f"The settings must be of {', '.join(by_name)}, got {', '.join(unknown)}.", file=sys.stderr)
        return 1
    held = [run(by_name[name]) for name in names or by_name]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
