"""The environment that every process of the matrix computes in, to be set before NumPy or a framework is imported."""

SETTINGS = {
    "NVIDIA_TF32_OVERRIDE": "0",  # NVIDIA's libraries obey it whatever a framework asks for
    "OMP_NUM_THREADS": "1",  # a second thread costs small arrays more than it brings
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
