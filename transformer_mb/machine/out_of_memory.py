"""A single sentence for the exceptions that frameworks raise where memory runs out, each of a class and words of its own."""

from __future__ import annotations

import re

# PyTorch on a GPU, JAX and MXNet; PyTorch on the CPU; TensorFlow; Paddle; JAX again.
WORDS = r"out of memory|can't allocate memory|OOM when allocating|\(ResourceExhausted\)|RESOURCE_EXHAUSTED"


def without_memory(error: BaseException) -> str | None:
    """Say in a sentence that an error is one of memory that could not be had; None for any other error."""
    if re.search(WORDS, str(error), re.IGNORECASE) is None and not isinstance(error, MemoryError):
        return None
    # The sentence that says it, and the one behind it if that says how much; the others are places and advice.
    sentences = [sentence for line in str(error).splitlines() for sentence in line.rstrip(". ").split(". ")]
    said = [one for one in sentences if re.search(rf"{WORDS}|^Tried to allocate", one, re.IGNORECASE)]
    reason = f" ({'. '.join(said)})" if said else ""
    return f"Memory must hold the model and one batch, but no more could be had{reason}; smaller batches take less."
