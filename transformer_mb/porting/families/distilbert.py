"""DistilBERT as ``transformers`` saves it (Sanh et al. 2019): BERT without types of tokens and without the pooler."""

from __future__ import annotations

from ...task_heads import Step
from ..settings import usual
from . import bert
from .bert_words import read_words, write_words
from .described_folder import row_of
from .description import Description
from .hugging_face import LibraryModel
from .naming_schemes import LayerNames
from .task_layouts import linear, masked_lm, on_one_state, on_tokens

TASKS = ("MaskedLM", "SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice")
BLOCK = {
    **{f"attention.W_{one[0]}": f"attention.{one}" for one in ("q_lin", "k_lin", "v_lin", "out_lin")},
    "addnorm1.ln": "sa_layer_norm",
    "ffn.dense1": "ffn.lin1",
    "ffn.dense2": "ffn.lin2",
    "addnorm2.ln": "output_layer_norm",
}
OUTER = {
    "encoder.embedding.weight": bert.TABLES.sides["encoder"],
    "encoder.pos_embedding.weight": "embeddings.position_embeddings.weight",
    "encoder.embedding_norm": "embeddings.LayerNorm",
}
HEADS = (
    masked_lm(
        *("DistilBert", "vocab_transform", "activation", "vocab_layer_norm"),
        *("vocab_projector.weight", "vocab_projector.bias"),
    ),
    on_one_state("DistilBert", "first", linear("pre_classifier"), Step("relu"), linear("classifier")),
    *on_tokens("DistilBert"),
)
FAMILY = Description(
    library=LibraryModel(model_type="distilbert", classes=("DistilBertModel", *(f"DistilBertFor{task}" for task in TASKS))),
    title="HF DistilBERT folder",
    prefix="distilbert.",
    names=LayerNames(block="transformer.layer.{number}.", blocks={"encoder": BLOCK}, outer=OUTER),
    tables=bert.TABLES,
    fixed={**bert.FIXED, **usual("token_types", "pooler"), "norm_eps": 1e-12},  # the epsilon is in no field of config.json
    sizes={
        "source_vocab_size": "vocab_size",
        "num_hiddens": "dim",
        "ffn_num_hiddens": "hidden_dim",
        "encoder_num_heads": "n_heads",
        "encoder_num_layers": "n_layers",
        "max_len": "max_position_embeddings",
        "pad_id": "pad_token_id",
    },
    rates={"dropout": "dropout", "attention_dropout": "attention_dropout"},
    vocabularies={},
    activation="activation",
    buffers=bert.BUFFERS,
    read_words=read_words,
    write_words=write_words,
    heads=HEADS,
)
ROW = row_of(FAMILY)
