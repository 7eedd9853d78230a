"""A small model of each family of ``transformers`` without the library, and its folder; each with a head of that family."""

import numpy as np
from safetensors.numpy import load_file, save_file

from porting.small_model import single, spoil
from transformer_mb.config import TransformerConfig
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import random_weights
from transformer_mb.porting.families import OF_LIBRARY
from transformer_mb.porting.model import PortedModel

DESCRIBED = {module.ROW.name: module.FAMILY for module in OF_LIBRARY}
ROWS = {module.ROW.name: module.ROW for module in OF_LIBRARY}
WIDTHS = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 2, "max_len": 20}
IDS = {"pad_id": 1, "bos_id": 0, "eos_id": 2}
# Tensors of a classifier by family, and the class that config.json names with them.
CLASSIFIERS = {
    "bert": ("BertForSequenceClassification", {"classifier": (3, 8)}),
    "roberta": ("RobertaForSequenceClassification", {"classifier.dense": (8, 8), "classifier.out_proj": (3, 8)}),
    "distilbert": ("DistilBertForSequenceClassification", {"pre_classifier": (8, 8), "classifier": (3, 8)}),
    "bart": ("BartForSequenceClassification", {"classification_head.dense": (8, 8), "classification_head.out_proj": (3, 8)}),
}


def config_of(name):
    """Whatever the family fixes, and small sizes."""
    family = DESCRIBED[name]
    fields = {**family.fixed, **WIDTHS, **IDS, "activation": "gelu", "dropout": 0.0, "attention_dropout": 0.0}
    architecture = family.architecture
    sides = {"source": architecture != "decoder", "target": architecture != "encoder"}
    fields |= {f"{side}_vocab_size": 11 for side, there in sides.items() if there}
    if sides["target"]:
        fields |= {"tie_output": True}
    if architecture == "encoder_decoder":
        fields |= {"share_embeddings": bool(family.tables.shared), "output_bias": bool(family.tables.bias)}
        fields |= {"decoder_start_id": 2}
    if "head_size" in family.sizes:
        fields |= {"head_size": 4, "embedding_dropout": 0.0}
    if "num_kv_heads" in family.sizes:
        fields |= {"num_kv_heads": 1}
    if "token_types" in family.sizes:
        fields |= {"token_types": 1}
    return TransformerConfig(**{**fields, "pooler": bool(family.pooler)})


def model_of(name):
    config = config_of(name)
    return PortedModel(config=config, weights=single(random_weights(parameter_shapes(config))))


def folder_of(name, place):
    """A small model as its family writes it."""
    place.mkdir(exist_ok=True)
    ROWS[name].write(model_of(name), place)
    return place


def tensors_of(folder):
    return load_file(folder / "model.safetensors")


def with_tensors(folder, **changes):
    """Give tensors other values, or new ones; None removes one."""
    tensors = {**tensors_of(folder), **changes}
    save_file({name: array for name, array in tensors.items() if array is not None}, folder / "model.safetensors")


def with_classifier(name, place):
    """A small model with the family's classifier on top."""
    folder = folder_of(name, place)
    made_by, layers = CLASSIFIERS[name]
    random = np.random.default_rng(3)
    head = {}
    for layer, shape in layers.items():
        head |= {f"{layer}.weight": random.normal(size=shape), f"{layer}.bias": random.normal(size=shape[0])}
    prefix = DESCRIBED[name].prefix
    body = {n if n.startswith((prefix, "lm_head", "final_logits")) else prefix + n: a for n, a in tensors_of(folder).items()}
    save_file({**body, **single(head)}, folder / "model.safetensors")
    spoil(folder / "config.json", architectures=[made_by], id2label={"0": "no", "1": "perhaps", "2": "yes"})
    return folder
