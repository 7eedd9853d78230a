"""Five mistakes of the kind that written cases let pass, planted into the torch backend by hand; and one change that is none.

None of them is a slip of one token: each is right for the sizes and switches that an author wrote down, and wrong for others.
"""

from __future__ import annotations

from dataclasses import dataclass

from .mutants import Mutant, statement_lines
from .operators import Edit
from .sources import Source

SEEDS = (0, 1, 2, 3, 4)  # of the cells; each mistake has to be caught by one of them


@dataclass(frozen=True)
class Planted:
    """A mistake: in which file, what stands there, and what stands there instead."""

    name: str
    file: str
    before: str
    after: str


PLANTED = (
    Planted(
        "the causal mask left out when exactly two query steps come",
        "attention.py",
        "if causal and T > 1:",
        "if causal and T > 1 and T != 2:",
    ),
    Planted(
        "the feed-forward network's dropout applied before its activation",
        "feed_forward.py",
        "self.dropout(self.activation(hidden))",
        "self.activation(self.dropout(hidden))",
    ),
    Planted(
        "the last of equal logits chosen in decoding",
        "decoding.py",
        "lambda logits: logits.argmax(dim=-1)",
        "lambda logits: logits.shape[-1] - 1 - logits.flip(-1).argmax(dim=-1)",
    ),
    Planted(
        "suppressed tokens not suppressed",
        "decoding.py",
        "return logits.index_fill(-1, token_ids, -torch.inf) if token_ids.numel() else logits",
        "return logits",
    ),
    Planted(
        "the loss of bfloat16 logits computed in bfloat16",
        "loss.py",
        "pred = pred.float()",
        "pass",
    ),
)
# Whatever the numbers, a sum of two is the same the other way round: who fails this one fails anything.
NO_MISTAKE = Planted("a sum the other way round", "normalization.py", "Z = X + self.dropout(Y)", "Z = self.dropout(Y) + X")


def planted_mutant(planted: Planted) -> Mutant:
    """Plant a mistake; raises ValueError where the backend's file no longer holds the text, which what is planted must
    follow."""
    source = Source("torch", planted.file)
    if source.text.count(planted.before) != 1:
        raise ValueError(f"torch/{planted.file} must hold {planted.before!r} once, got {source.text.count(planted.before)}.")
    start = source.text.index(planted.before)
    line = source.text.count("\n", 0, start) + 1
    text = source.text.replace(planted.before, planted.after)
    edit = Edit(start, start + len(planted.before), planted.after)
    return Mutant(planted.name, source.file, "planted", "", line, statement_lines(source, line), text, edit)
