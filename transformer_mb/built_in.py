"""The built-in backends, and what each must offer."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT = "numpy"
EVERY_DTYPE = ("float64", "float32", "bfloat16", "float16")
PLAIN_DTYPES = EVERY_DTYPE[:2]


@dataclass(frozen=True)
class Entry:
    """The home of a backend: ``module`` defines ``BACKEND``; ``requires`` are the packages that it imports.

    ``install`` is the command that installs them; empty: those of this package's extra of the same name. ``dtypes`` are
    those that it must offer on every device; ``fast`` what it can be asked for: of its trainers ``compile``, or ``bf16`` as
    their precision, and ``forward derivatives`` of its layers; ``on_cpu`` what else on a processor, of decoding ``int8``;
    ``on_gpu`` what else on a GPU, precisions and ``Backend.gpu_settings``. Of another package's backend nothing is known
    before it runs.
    """

    module: str
    requires: tuple[str, ...]
    install: str
    dtypes: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()
    on_cpu: tuple[str, ...] = ()
    on_gpu: tuple[str, ...] = ()


COMMON_OPTIONS = ("bf16", "compile", "forward derivatives")
ATTENTION_KERNELS = ("math", "flash", "memory-efficient", "cuDNN")
TORCH_ON_GPU = ("tf32", "TF32", *ATTENTION_KERNELS, "CUDA graphs", "deterministic")
BUILT_IN = {
    name: Entry(
        f"transformer_mb.backends.{name}",
        requires,
        "pip install numpy" if name == DEFAULT else "",
        dtypes,
        fast,
        on_cpu,
        on_gpu,
    )
    for name, requires, dtypes, fast, on_cpu, on_gpu in (
        ("numpy", ("numpy",), PLAIN_DTYPES, ("bf16", "tf32"), ("int8",), ()),
        ("torch", ("torch",), EVERY_DTYPE, COMMON_OPTIONS, ("int8",), TORCH_ON_GPU),
        ("tensorflow", ("tensorflow", "keras"), EVERY_DTYPE, COMMON_OPTIONS, (), ()),
        ("paddle", ("paddle",), PLAIN_DTYPES, (), (), ()),
        ("mxnet", ("mxnet",), PLAIN_DTYPES, (), (), ()),
        ("jax", ("jax", "flax", "optax"), EVERY_DTYPE, COMMON_OPTIONS, (), ("tf32", "TF32", "deterministic")),
    )
}
