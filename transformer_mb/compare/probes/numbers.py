"""Numbers: dtypes and their promotion, how exactly sums are computed, and whose memory it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...rounding import rounded as rounded_to
from ..facts import Ask, Probe
from .reading import dtype_name, first_number

ALIGNMENT = 64  # of the memory that XLA and TensorFlow take over without a copy


def _told(value: Any) -> str:
    """Return value and dtype in words."""
    found = np.asarray(value)
    return f"{float(found.real.flat[0]):g} as {found.dtype}"


def _sum_of(first: str, second: str) -> Callable[[Ask], str]:
    return lambda add: dtype_name(add(np.ones(2, first), np.ones(2, second)))


def _large_integer(returned: Ask) -> str:
    given = np.array([2**40 + 5])
    back = np.asarray(returned(given))
    return f"{int(back.real[0])} as {back.dtype}"


def _what_rounds(dtype: str) -> Callable[[Ask], str]:
    """Compare the errors of 64 sums of 4,096 products with those of rounding the exact sums, by root mean square.

    A processor adds in an order of its own. Of float32 the worst, one by one, has 38; TF32 has 280. Of formats of two bytes
    blocks of sums in float32 have 2, and sums that are rounded one by one 500.
    """

    def measure(matmul: Ask) -> str:
        generator = np.random.default_rng(0)
        digits = 2.0**-5 if dtype != "float32" else 2.0**-20  # few enough for every dtype to hold them
        X, Y = (digits * np.round(generator.uniform(0.25, 1.0, shape) / digits) for shape in ((4, 4096), (4096, 16)))
        exact = X @ Y
        found = np.asarray(matmul(X.astype("float32"), Y.astype("float32"), dtype), np.float64)
        share = np.linalg.norm(found - exact) / np.linalg.norm(rounded_to(exact, dtype) - exact)
        if dtype == "float32":
            return "in float32" if share < 100.0 else "in fewer digits"
        return "the result" if share < 10.0 else "every sum"

    return measure


def _sum_error(total: Ask) -> float:
    """Return the root mean square of five sums' relative errors, at least float32's epsilon."""
    errors = []
    for value in (0.1, 0.2, 0.3, 0.6, 0.7):
        X = np.full(1_000_000, value, "float32")
        exact = float(X.astype("float64").sum())
        errors.append((float(np.asarray(total(X)).real) - exact) / exact)
    return float(np.maximum(np.sqrt(np.mean(np.square(errors))), np.finfo("float32").eps))


def _array(offset: int) -> np.ndarray:
    """Make 64 float32 zeros whose memory begins ``offset`` bytes after an aligned address."""
    memory = np.zeros(64 * 4 + 2 * ALIGNMENT, "uint8")
    start = -memory.ctypes.data % ALIGNMENT + offset
    return memory[start : start + 64 * 4].view("float32")


def _shared(follows: Ask) -> str:
    try:
        aligned, other = follows(_array(0)), follows(_array(4))
    except ValueError as error:  # NumPy's own
        if "read-only" in str(error):
            return "read-only"
        raise
    if aligned and other:
        return "shared"
    return "shared where aligned to 64 bytes" if aligned else "shared where not aligned" if other else "copied"


ON_PROMOTION = "Name the dtype: `astype`, `tf.cast`, `.to`."

PROBES = (
    Probe(
        name="float64 in",
        operation="returned",
        measure=lambda returned: dtype_name(returned(np.ones(2))),
        question="Which dtype has a NumPy array of float64 once it is the framework's?",
        meaning="A reference that was meant to be exact is one to seven digits.",
        setting="`jax_enable_x64` in JAX, `dtype=` in MXNet.",
        sources=("docs.jax.dev/en/latest/default_dtypes.html",),
    ),
    Probe(
        name="a large int64 in",
        operation="returned",
        measure=_large_integer,
        question="What becomes of 2^40 + 5 = 1099511627781 in a NumPy array of int64?",
        meaning="Hashes and offsets into large files are cut or rounded without an error.",
        setting="`jax_enable_x64` in JAX, `dtype=` in MXNet.",
        sources=("docs.jax.dev/en/latest/default_dtypes.html",),
    ),
    Probe(
        name="Python floats in",
        operation="from_python",
        measure=lambda from_python: dtype_name(from_python([0.5, 1.5])),
        question="Which dtype have Python's floats?",
        meaning="One list makes a model of float32 compute in float64, or not.",
        setting="`dtype=`; `torch.set_default_dtype`, `keras.config.set_floatx`.",
    ),
    Probe(
        name="Python integers in",
        operation="from_python",
        measure=lambda from_python: dtype_name(from_python([1, 2])),
        question="Which dtype have Python's integers?",
        meaning="Tokens of another dtype are refused by a saved model, or counted in floats.",
        setting="`dtype=`.",
    ),
    Probe(
        name="arange dtype",
        operation="arange",
        measure=lambda arange: dtype_name(arange(3)),
        question="Which dtype has arange(3)?",
        meaning="Positions as float32 cannot index; as int32 they cannot be compared with int64 everywhere.",
        setting="`dtype=`.",
    ),
    Probe(
        name="int32 and float32",
        operation="add",
        measure=_sum_of("int32", "float32"),
        question="Which dtype has the sum of int32 and float32?",
        meaning="NumPy goes to float64, TensorFlow refuses.",
        setting=ON_PROMOTION,
        sources=("docs.jax.dev/en/latest/jep/9407-type-promotion.html",),
    ),
    Probe(
        name="int64 and float16",
        operation="add",
        measure=_sum_of("int64", "float16"),
        question="Which dtype has the sum of int64 and float16?",
        meaning="Adding positions to activations widens them, or loses integers above 2,048.",
        setting=ON_PROMOTION,
        sources=("docs.jax.dev/en/latest/jep/9407-type-promotion.html",),
    ),
    Probe(
        name="float16 and float32",
        operation="add",
        measure=_sum_of("float16", "float32"),
        question="Which dtype has the sum of float16 and float32?",
        meaning="One float32 bias makes a half-precision model a slow one.",
        setting=ON_PROMOTION,
    ),
    Probe(
        name="int32 and a Python float",
        operation="add_number",
        measure=lambda add_number: _told(add_number(np.ones(2, "int32"), 0.5)),
        question="What is an int32 tensor of 1 plus Python's 0.5?",
        meaning="An integer is what is left in one framework, an error in another.",
        setting=ON_PROMOTION,
    ),
    Probe(
        name="a quotient of integers",
        operation="divide",
        measure=lambda divide: _told(divide(np.array([3], "int32"), np.array([2], "int32"))),
        question="What is 3 / 2 of int32?",
        meaning="float64 in TensorFlow and NumPy meets float32 in the next line.",
        setting=ON_PROMOTION,
    ),
    Probe(
        name="a sum of booleans",
        operation="total",
        measure=lambda total: _told(total(np.ones(3, bool))),
        question="What is the sum of three booleans that are true?",
        meaning="The usual way to count what a mask keeps.",
        setting="Cast the mask first.",
    ),
    Probe(
        name="a mean of integers",
        operation="mean",
        measure=lambda mean: _told(mean(np.array([1, 2], "int32"))),
        question="What is the mean of 1 and 2 of int32?",
        meaning="An accuracy by the mean of matches is 0 until it is 1.",
        setting="Cast before the mean.",
        sources=("tensorflow.org/api_docs/python/tf/reduce_mean",),
    ),
    Probe(
        name="a mean of float16",
        operation="mean",
        measure=lambda mean: first_number(mean(np.full(4096, 100.0, "float16"))),
        question="What is the mean of 4,096 times 100 in float16, whose largest number is 65,504?",
        meaning="A sum kept in float16 makes a loss infinite.",
        setting="Cast before the mean.",
    ),
    Probe(
        name="matmul of float32",
        operation="matmul",
        measure=_what_rounds("float32"),
        question="Are 4,096 products of float32 multiplied and added in float32, or in fewer digits?",
        meaning="With the 10 bits of TF32, as a GPU may take, an activation has three digits.",
        setting="`torch.set_float32_matmul_precision`, `jax_default_matmul_precision`.",
        sources=("jax-ml/jax#12008", "jax-ml/jax#10413", "jax-ml/jax#18934", "pytorch/xla#3553"),
    ),
    Probe(
        name="matmul of bfloat16",
        operation="matmul",
        measure=_what_rounds("bfloat16"),
        question="What is rounded to bfloat16 when 4,096 products are added?",
        meaning="Where every sum is, nothing is left of a long row: the error is as large as the result.",
        setting="`preferred_element_type=float32` in JAX.",
    ),
    Probe(
        name="matmul of float16",
        operation="matmul",
        measure=_what_rounds("float16"),
        question="What is rounded to float16 when 4,096 products are added?",
        meaning="Where every sum is, a tenth of the result is lost, and nothing says so.",
        setting="`preferred_element_type=float32` in JAX.",
    ),
    Probe(
        name="a sum of a million",
        operation="total",
        measure=_sum_error,
        kind="noted",
        question="How large is the error of a sum of a million equal numbers in float32?",
        meaning="By halves it keeps seven digits, one by one two; processor and compilation matter as well.",
        setting="Sum in float64.",
    ),
    Probe(
        name="memory of an array given",
        operation="follows_array",
        measure=_shared,
        question="Does a tensor change with the NumPy array that it was made of?",
        meaning="A buffer that is filled again for the next batch changes the one in work.",
        setting="`torch.tensor`, `jnp.array` and `tf.identity` copy; or copy the array.",
        sources=("pytorch.org/docs/stable/generated/torch.from_numpy.html", "jax-ml/jax#4486"),
    ),
    Probe(
        name="memory of an array returned",
        operation="follows_tensor",
        measure=_shared,
        question="Does a tensor change with the NumPy array that was made of it?",
        meaning="Weights read out for a plot are changed by the plot.",
        setting="Copy the array.",
    ),
)
