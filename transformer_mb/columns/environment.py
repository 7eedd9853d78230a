"""The environment that every process of the matrix, and of a port's proof, computes in.

To be set before NumPy or a framework is imported.
"""

SETTINGS = {
    # NVIDIA's containers turn TF32 on for PyTorch by it. What would turn it off for all (NVIDIA_TF32_OVERRIDE) is not set, for
    # users have no such variable, and a backend that forgot its own switch would not be seen.
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "0",
    # On a GPU: one workspace, so that cuBLAS adds in one order; memory as it is needed, since several processes share it.
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    # A second thread costs small arrays more than it brings, and torch's first float32 forward of a process was seen to be off
    # by 5e-5 with two of them, in three of some twenty runs of one model on a busy machine.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # What is compared is compiled here and now, not by an earlier process.
    "TRANSFORMER_MB_COMPILATION_CACHE": "off",
}


def settings(threads: int = 1) -> dict[str, str]:
    """Return SETTINGS with this number of threads for arithmetic."""
    return SETTINGS | {name: str(threads) for name in SETTINGS if name.endswith("THREADS")}
