"""BERT and its kin (MiniLM) as ``transformers`` saves them (Devlin et al. 2019): an encoder, with or without the pooler.

Heads for words, sentences and tokens come along and run (``task_heads``). Words become ids outside of this project: a BERT
vocabulary needs WordPiece, and each sentence ``[CLS]`` before it and ``[SEP]`` after it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..settings import usual
from .bert_words import read_words, write_words
from .described_folder import row_of
from .description import Description, Named, TokenTables
from .hugging_face import CONFIG, LibraryModel
from .naming_schemes import LayerNames
from .task_layouts import HeadLayout, linear, masked_lm, on_one_state, on_tokens

MODEL = LibraryModel(
    model_type="bert",
    classes=(
        "BertModel",
        *(f"BertFor{task}" for task in ("PreTraining", "MaskedLM", "NextSentencePrediction", "MultipleChoice")),
        *(f"BertFor{task}" for task in ("SequenceClassification", "TokenClassification", "QuestionAnswering")),
    ),
    nameless=(
        "hidden_size",
        "it names no model (model_type, architectures): from bert (--from) reads it where its tensors are BERT's",
        f"{CONFIG} names no model: that it is a BERT and no kin of it was taken on trust.",
    ),
)
TABLES = TokenTables(sides={"encoder": "embeddings.word_embeddings.weight"})
OUTER = {
    "encoder.embedding.weight": TABLES.sides["encoder"],
    "encoder.pos_embedding.weight": "embeddings.position_embeddings.weight",
    "encoder.type_embedding.weight": "embeddings.token_type_embeddings.weight",
    "encoder.embedding_norm": "embeddings.LayerNorm",
    "pooler.dense": "pooler.dense",
}
BLOCK = {
    **{f"attention.W_{one[0]}": f"attention.self.{one}" for one in ("query", "key", "value")},
    "attention.W_o": "attention.output.dense",
    "addnorm1.ln": "attention.output.LayerNorm",
    "ffn.dense1": "intermediate.dense",
    "ffn.dense2": "output.dense",
    "addnorm2.ln": "output.LayerNorm",
}
NAMES = LayerNames(block="encoder.layer.{number}.", blocks={"encoder": BLOCK}, outer=OUTER)  # of a BertModel's state_dict
SIZES = {
    "source_vocab_size": "vocab_size",
    "num_hiddens": "hidden_size",
    "ffn_num_hiddens": "intermediate_size",
    "encoder_num_heads": "num_attention_heads",
    "encoder_num_layers": "num_hidden_layers",
    "max_len": "max_position_embeddings",
    "token_types": "type_vocab_size",
    "pad_id": "pad_token_id",
}
RATES = {
    "norm_eps": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
FIXED = {
    **usual("norm_position", "norm_kind", "norm_affine", "final_norm", "ffn_bias", "ffn_dropout"),
    "architecture": "encoder",
    "embedding_norm": True,
    "embedding_scale": False,
    "position": "learned",
    "position_offset": 0,
    "encoder_attention_bias": True,
}
REQUIRED = {"position_embedding_type": ("absolute",), "is_decoder": (False,)}
BUFFERS = (r"embeddings\.(position_ids|token_type_ids)",)
OF_WORDS, NEXT = "cls.predictions", "BertForNextSentencePrediction"
HEADS = (
    masked_lm(
        *("Bert", f"{OF_WORDS}.transform.dense", "activation", f"{OF_WORDS}.transform.LayerNorm"),
        *(f"{OF_WORDS}.decoder.weight", f"{OF_WORDS}.bias"),
    ),
    HeadLayout(task="next_sentence", made_by=NEXT, takes="pooled", steps=(linear("cls.seq_relationship"),)),
    on_one_state("Bert", "pooled", linear("classifier")),
    *on_tokens("Bert"),
)


def modern_names(tensors: Mapping[str, np.ndarray]) -> Named:
    """Return tensors by today's names: files of before 2019 call the scale and shift of a normalisation gamma and beta."""
    today = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
    renamed = {}
    for name, array in tensors.items():
        for old, new in today.items():
            name = name.replace(old, new)
        renamed[name] = array
    return renamed


FAMILY = Description(
    library=MODEL,
    title="HF BERT/MiniLM folder",
    prefix="bert.",
    names=NAMES,
    tables=TABLES,
    fixed=FIXED,
    sizes=SIZES,
    rates=RATES,
    vocabularies={},
    activation="hidden_act",
    required=REQUIRED,
    buffers=BUFFERS,
    unpacked=modern_names,
    read_words=read_words,
    write_words=write_words,
    heads=HEADS,
)
ROW = row_of(FAMILY)
read, write = ROW.read, ROW.write
