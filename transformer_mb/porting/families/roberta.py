"""RoBERTa as ``transformers`` saves it (Liu et al. 2019): BERT's tensors, positions from row 2 on, one type of token."""

from __future__ import annotations

from dataclasses import replace

from ...task_heads import Step
from . import bert
from .described_folder import row_of
from .description import Description
from .hugging_face import LibraryModel
from .task_layouts import HeadLayout, linear, masked_lm, on_one_state, on_tokens
from .tokenizer_files import read_words, write_words

TASKS = ("MaskedLM", "SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice")


def kin(model_type: str, name: str, title: str) -> Description:
    """Describe a family with RoBERTa's tensors and fields, whose classes begin with ``name``."""
    return replace(
        bert.FAMILY,
        library=LibraryModel(model_type=model_type, classes=(f"{name}Model", *(f"{name}For{task}" for task in TASKS))),
        title=title,
        prefix="roberta.",
        fixed={**bert.FIXED, "position_offset": 2},
        required={**bert.REQUIRED, "pad_token_id": (1,)},  # positions begin after its id
        counts_offset=True,
        read_words=read_words,
        write_words=write_words,
        heads=_heads(name),
    )


def _heads(name: str) -> tuple[HeadLayout, ...]:
    return (
        masked_lm(name, "lm_head.dense", "gelu", "lm_head.layer_norm", "lm_head.decoder.weight", "lm_head.bias"),
        on_one_state(name, "first", linear("classifier.dense"), Step("tanh"), linear("classifier.out_proj")),
        *on_tokens(name),
    )


FAMILY = kin("roberta", "Roberta", "HF RoBERTa folder")
ROW = row_of(FAMILY)
