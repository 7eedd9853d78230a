"""Heads in files of ``transformers``: which tensors are a task's, and what its class computes with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PortError
from ...task_heads import TABLE, Head, Step
from ..model import Arrays


@dataclass(frozen=True, kw_only=True)
class HeadLayout:
    """A head of the library.

    Attributes:
        task, takes, steps: as of ``task_heads.Head``. made_by: its class, which runs it for the proof.
        by_class: other heads have the same names, so that ``architectures`` of config.json must name the class.
    """

    task: str
    made_by: str
    takes: str
    steps: tuple[Step, ...]
    by_class: bool = False

    def fits(self, tensors: Arrays, architectures: list[str]) -> bool:
        """Tell whether these tensors have it."""
        wanted = {name for step in self.steps for name in (step.bias, "" if step.operation == "tied" else step.weight) if name}
        return wanted <= set(tensors) and (not self.by_class or self.made_by in architectures)


def linear(layer: str, bias: bool = True) -> Step:
    """Return the step of a linear layer."""
    return Step("linear", f"{layer}.weight", f"{layer}.bias" if bias else "")


def norm(layer: str) -> Step:
    """Return the step of a normalization."""
    return Step("norm", f"{layer}.weight", f"{layer}.bias")


def masked_lm(prefix: str, dense: str, activation: str, normalization: str, weight: str, bias: str) -> HeadLayout:
    """Return the head that names hidden words: a layer, its activation and its normalization before the projection."""
    steps = (linear(dense), Step(activation), norm(normalization), Step("tied", weight, bias))
    return HeadLayout(task="masked_lm", made_by=f"{prefix}ForMaskedLM", takes="all", steps=steps)


def on_tokens(prefix: str, layer: str = "classifier", by_class: bool = True) -> tuple[HeadLayout, ...]:
    """Return the heads that are one linear layer on each token's state."""
    return (
        HeadLayout(
            task="token_classification",
            made_by=f"{prefix}ForTokenClassification",
            takes="all",
            steps=(linear(layer),),
            by_class=by_class,
        ),
        HeadLayout(
            task="question_answering", made_by=f"{prefix}ForQuestionAnswering", takes="all", steps=(linear("qa_outputs"),)
        ),
    )


def on_one_state(prefix: str, takes: str, *steps: Step) -> HeadLayout:
    """Return the head that classifies sequences."""
    made_by = f"{prefix}ForSequenceClassification"
    return HeadLayout(task="sequence_classification", made_by=made_by, takes=takes, steps=steps, by_class=True)


def found_heads(layouts: tuple[HeadLayout, ...], tensors: Arrays, values: Mapping[str, Any]) -> tuple[Head, ...]:
    """Return the heads of a folder, the unknown rest as one without a task; ``tensors``: all that is not the model's."""
    named = values.get("architectures") or []
    architectures = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    heads, rest = [], dict(tensors)
    for layout in layouts:
        if layout.fits(tensors, architectures):
            own = {name for step in layout.steps for name in (step.weight, step.bias) if name in tensors}
            # transformers saves the bias of a tied projection by two names
            own |= {n for s in layout.steps if s.operation == "tied" for n in _twins(s, tensors)}
            parts = {name: tensors[name] for name in tensors if name in own}
            heads.append(Head(task=layout.task, takes=layout.takes, steps=layout.steps, tensors=parts, made_by=layout.made_by))
            rest = {name: array for name, array in rest.items() if name not in own}
    return (*heads, Head(task="", tensors=rest)) if rest else tuple(heads)


def _twins(step: Step, tensors: Arrays) -> list[str]:
    """Return the second names of a tied projection's bias."""
    other = f"{step.weight.removesuffix('.weight')}.bias"
    return [other] if other != step.bias and other in tensors and np.array_equal(tensors[other], tensors[step.bias]) else []


def check_tied(heads: tuple[Head, ...], weights: Arrays, values: Mapping[str, Any], place: Any) -> None:
    """Refuse a projection that config.json says is the token table and that is another one; raises PortError."""
    if values.get("tie_word_embeddings", True) is False:
        return
    for head in heads:
        for step in head.steps:
            own = head.tensors.get(step.weight) if step.operation == "tied" else None
            if own is not None and not np.array_equal(own, weights[TABLE]):
                raise PortError(f"{place}: tie_word_embeddings is true, but {step.weight} is not the token table.")


def said_of(heads: tuple[Head, ...]) -> list[str]:
    """Return a note for what runs and one for what is kept alone."""
    tasks = [head.task for head in heads if head.task]
    kept = [name for head in heads if not head.task for name in head.tensors]
    notes = [f"Parts for tasks come along: {', '.join(tasks)}."] if tasks else []
    return [*notes, *([f"Parts that are not known here are kept and not run: {', '.join(kept):.300}."] if kept else [])]
