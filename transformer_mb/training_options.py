"""All options of a training: their kinds, defaults and words, as ``--help``, ``train --print-config``, docs/TRAINING.md and
``tmb.train`` have them.

They are not in ``training/``, which imports NumPy: ``--help`` reads them, and does without.
"""

from types import NoneType
from typing import Annotated, Any, NamedTuple, TypedDict, get_args, get_type_hints

from .config import CHOICES


class Row(NamedTuple):
    """An option of the recipe: its default, its words, and the least that it may be where that is a whole number."""

    default: Any
    words: str
    least: int | None = None


class Fixed(Row):
    """An option that a resumed training may not change: the data, their order, and what the saved state means."""


def one_of(name: str) -> str:
    return ", ".join(CHOICES[name])


class ModelOptions(TypedDict, total=False):
    """Fields of TransformerConfig that a training leaves open; the vocabularies decide on the others."""

    architecture: Annotated[str, "sentence pairs train an encoder_decoder, the only one here"]
    num_hiddens: Annotated[int, "the width of the model"]
    ffn_num_hiddens: Annotated[int, "the width inside the feed-forward network"]
    encoder_num_heads: Annotated[int, "attention heads of the encoder; num_heads sets both sides"]
    decoder_num_heads: Annotated[int, "attention heads of the decoder"]
    encoder_num_layers: Annotated[int, "blocks of the encoder; num_layers sets both sides"]
    decoder_num_layers: Annotated[int, "blocks of the decoder"]
    head_size: Annotated[int | None, "width of each attention head; left out: num_hiddens divided by the heads"]
    num_kv_heads: Annotated[int | None, "heads of keys and values, which divide those of queries; left out: as many"]
    attention_scale: Annotated[bool, "divide the scores of attention by the root of a head's width"]
    max_len: Annotated[int, "positions: the longest sentence, <eos> counted"]
    norm_position: Annotated[str, f"{one_of('norm_position')}: normalize after the residual sum, or before each sublayer"]
    norm_kind: Annotated[str, one_of("norm_kind")]
    norm_eps: Annotated[float, "the normalization's epsilon, above 0 and below 1"]
    norm_affine: Annotated[bool, "whether normalizations have a learned scale and shift"]
    final_norm: Annotated[bool, "one more normalization after the last block of each side"]
    embedding_norm: Annotated[bool, "a normalization after the embedding sum"]
    decoder_embedding_norm: Annotated[
        str, f"{one_of('decoder_embedding_norm')}: in the decoder it is of the sum, or before positions are added"
    ]
    activation: Annotated[str, one_of("activation")]
    embedding_scale: Annotated[bool, "multiply token embeddings by the root of num_hiddens"]
    share_embeddings: Annotated[bool, "one vocabulary and one table for both sides"]
    tie_output: Annotated[bool, "the output projection is the target's embedding table"]
    padding_vector_zero: Annotated[bool, "the padding's embedding is zero and stays so"]
    position: Annotated[str, f"{one_of('position')} positions"]
    sinusoid_layout: Annotated[str, f"{one_of('sinusoid_layout')}: where the cosines stand"]
    relative_buckets: Annotated[int, "of relative positions: how many distances are told apart, at least 4"]
    relative_max_distance: Annotated[int, "of relative positions: from this distance on all are alike"]
    rotary_layout: Annotated[str, f"{one_of('rotary_layout')}: the numbers of a head that rotary positions turn together"]
    rotary_base: Annotated[float, "the base of rotary wavelengths, above 1"]
    position_offset: Annotated[int, "the number of the first position"]
    encoder_attention_bias: Annotated[bool, "biases in the encoder's attention"]
    decoder_attention_bias: Annotated[bool, "biases in the decoder's attention"]
    ffn_bias: Annotated[bool, "biases in the feed-forward network"]
    ffn_gated: Annotated[bool, "multiply the feed-forward network's activation by a second projection"]
    output_bias: Annotated[bool, "a bias in the output projection"]
    output_scale: Annotated[bool, "divide what the output projection reads by the root of num_hiddens"]
    token_types: Annotated[int, "rows of the encoder's token-type table, 0 for none"]
    pooler: Annotated[bool, "BERT's tanh layer over the first position; for encoders alone"]
    dropout: Annotated[float, "rate on sublayer outputs, from 0 to below 1"]
    attention_dropout: Annotated[float | None, "rate on attention weights; left out: as dropout"]
    embedding_dropout: Annotated[float | None, "rate on embeddings with positions; left out: as dropout"]
    ffn_dropout: Annotated[float, "rate after the feed-forward network's activation"]
    decoder_start_id: Annotated[int | None, "the first token of a target; left out: <bos>"]
    suppress_ids: Annotated[tuple[int, ...], "tokens that a translation never holds; left out: <unk>, <pad> and <bos>"]
    compat_decode: Annotated[str, f"{one_of('compat_decode')}: d2l decodes as the book's code does"]


class RecipeOptions(TypedDict, total=False):
    """Fields of TrainingRecipe."""

    optimizer: Annotated[str, Fixed("adam", "adam, adamw or sgd")]
    learning_rate: Annotated[float, Row(0.001, "the schedule's factor, above 0")]
    betas: Annotated[tuple[float, float], Row((0.9, 0.999), "the two decay rates of adam and adamw, each from 0 to below 1")]
    eps: Annotated[float, Row(1e-8, "epsilon of adam and adamw, above 0")]
    momentum: Annotated[float, Row(0.0, "of sgd, from 0 to below 1")]
    weight_decay: Annotated[
        float, Row(0.0, "of adamw, from 0 to below 1: each step takes learning_rate times that of every weight")
    ]
    clip_norm: Annotated[float | None, Row(1.0, "the largest norm of all gradients together; 0: any")]
    normalization: Annotated[str, Fixed("tokens", "the loss is a mean over tokens, or over steps as in D2L")]
    label_smoothing: Annotated[float, Row(0.0, "share of probability for all other tokens, from 0 to below 1")]
    precision: Annotated[
        str,
        Row(
            "full",
            "of matrix products: full; bf16, with float32 weights (torch, JAX, TensorFlow; NumPy imitates it); "
            "tf32 (torch, JAX on a GPU)",
        ),
    ]
    compile: Annotated[
        bool, Row(False, "compile the whole step first, which takes a minute (torch; JAX and TensorFlow always compile)")
    ]
    seed: Annotated[int, Fixed(0, "of initial weights, data order and dropout")]
    epochs: Annotated[int | None, Row(10, "epochs in all, those before a resume counted", 1)]
    max_steps: Annotated[int | None, Row(None, "steps in all, in place of epochs; 0: epochs", 1)]
    batch_size: Annotated[int | None, Fixed(64, "sentence pairs in a batch", 1)]
    batch_tokens: Annotated[
        int | None, Fixed(None, "in place of batch_size: rows x padded width of a batch are at most N; 0: batch_size", 1)
    ]
    accumulate: Annotated[int, Fixed(1, "batches that make one step, as one batch of all their pairs would", 1)]
    num_steps: Annotated[int | None, Fixed(None, "cut and pad every sentence to N tokens; 0: cut none, pad little", 1)]
    num_examples: Annotated[int | None, Fixed(None, "read only the first N lines; 0: all", 1)]
    min_freq: Annotated[int, Fixed(1, "rarer tokens are unknown words", 1)]
    pipeline: Annotated[
        str, Fixed("d2l", "text to tokens: d2l (lower case, a space before , . ! ?), words (split at spaces) or characters")
    ]
    schedule: Annotated[
        str, Row("constant", "of the learning rate: constant, linear, cosine, inverse_square_root, vaswani or plateau")
    ]
    warmup_steps: Annotated[int, Row(0, "steps of the schedule's warm-up", 0)]
    schedule_steps: Annotated[
        int | None, Row(None, "the step after which linear and cosine are zero; 0: the last, which a longer training moves", 1)
    ]
    plateau_factor: Annotated[float, Row(0.5, "of the schedule plateau, above 0 and below 1: what lowers the rate")]
    plateau_patience: Annotated[
        int, Row(3, "of the schedule plateau: validations without a new best, after which the rate is lowered", 1)
    ]
    initialization: Annotated[str, Fixed("xavier", "of the weights: xavier or torch_default")]
    validate_every_steps: Annotated[
        int | None, Row(None, "steps between two validations; 0: one after every epoch; the last step is always measured", 1)
    ]
    validation_metric: Annotated[str, Fixed("loss", "loss, bleu or chrf: what the best validation and early stopping go by")]
    validation_lines: Annotated[
        int | None, Fixed(None, "translate the first N validation pairs each time; 0: all for bleu and chrf, else none", 1)
    ]
    validation_tokenize: Annotated[
        str, Fixed("13a", "sacreBLEU's tokenization for bleu: 13a, intl, zh, ja-mecab, ko-mecab, char or none")
    ]
    early_stopping: Annotated[int | None, Row(None, "stop after N validations that were no new best; 0: never", 1)]
    keep: Annotated[str, Fixed("best", "the checkpoint's model: best by validation, or last; without validation the last")]
    keep_best: Annotated[
        int, Fixed(1, "save the weights of the N best validations for average; with keep = last of the N latest", 1)
    ]


class BothSides(TypedDict, total=False):
    """A word for a field of the encoder and of the decoder, with the default of both."""

    num_layers: Annotated[int, Row(2, "blocks of each side")]
    num_heads: Annotated[int, Row(4, "attention heads of each side")]


class TrainingOptions(ModelOptions, RecipeOptions, BothSides, total=False):
    """The options that ``tmb.train`` takes beside the places of data and results."""


def _declared(options: type) -> dict[str, Any]:
    """Return the row that each option has in its annotation."""
    return {name: kind.__metadata__[0] for name, kind in get_type_hints(options, include_extras=True).items()}


KINDS: dict[str, Any] = get_type_hints(TrainingOptions)
MODEL: dict[str, str] = _declared(ModelOptions)
TRAINING: dict[str, Row] = _declared(RecipeOptions)
SIDES: dict[str, Row] = _declared(BothSides)
FIXED = tuple(name for name, row in TRAINING.items() if isinstance(row, Fixed))
# Of two options each one says it in the place of the other.
EITHER = {("batch_size", "batch_tokens"): "how large a batch is", ("epochs", "max_steps"): "when training ends"}
# TOML and flags have no None: 0 says it.
NONE_AS_ZERO = {name for name in TRAINING if NoneType in get_args(KINDS[name])} - {name for name, _ in EITHER}

FILES = ("source", "target", "validation", "validation_target")  # those of DATA that name files with text
DATA: dict[str, str] = {
    "source": "SOURCE TAB TARGET lines, .jsonl, or the source side with a target; .gz too",
    "target": "the target side, line by line",
    "tokenizer": "subwords, instead of a pipeline: a folder of `tokenizer train`, a tokenizer.json, a SentencePiece .model",
    "vocabulary": "words, one a line, a count may follow: for both sides, or for the source beside a target_vocabulary",
    "target_vocabulary": "the words of the target side",
    "fields": "two field names of JSON lines, source first",
    "columns": "two column numbers of lines with tabs, source first; else the first two",
    "bad_lines": "stop at lines that cannot be trained on (no UTF-8, no pair, NUL, far too long), or drop such lines",
    "cache": "the folder for ids that are mapped into memory; else files of 64 MiB and more get OUT.cache, others none",
    "validation": "pairs that are measured after every epoch or every validate_every_steps, and scored at the end",
    "validation_target": "the target side of the validation",
}

# Of translating: the same as of ``evaluate``.
DECODING: dict[str, str] = {
    "beam": "hypotheses of the beam search; 1 decodes greedily",
    "length_penalty": "of the beam search: 0 is none, more (to 10) favors longer translations",
    "coverage_penalty": "of the beam search: more (to 10) favors translations of the whole source",
    "max_steps": "the longest translation; 0: twice the source and more",
    "too_long": "of a line with more tokens than the model takes: cut or skip it, or stop",
}

RUN: dict[str, str] = {
    "preset": "a published architecture with its recipe",
    "out": "the checkpoint folder",
    "init_from": "begin from the model of this checkpoint folder, with its vocabularies and a new optimizer",
    "backend": "the framework; else TRANSFORMER_MB_BACKEND, else numpy",
    "device": "as the framework names it; else its default",
    "dtype": "of weights and activations",
    "save_every": "epochs between two checkpoints",
    "save_every_steps": "steps between two checkpoints, besides",
    "log": "a file of JSON lines: each reading of the loss, and each validation",
    "tensorboard": "a folder for TensorBoard: the same",
    "processes": "on this machine, which take each step together",
}
RUN_DEFAULTS: dict[str, Any] = {"dtype": "float32", "save_every": 10}
