"""ONNX: an encoder that runs once and a decoder step with a cache, for any batch and any length.

=============  ==========================================================================================================
encoder.onnx   ``source`` [B, S], ``source_valid_lens`` [B] (and ``token_types`` [B, S] where the model has them), int64
               -> ``encoder`` [B, S, D]; ``pooled`` [B, D] with a pooler; with a decoder also its cross-attention's
               ``cross_keys.{i}`` and ``cross_values.{i}`` [B, G, S, D/H] for each block i,
               G heads (as many as there are, unless num_kv_heads says fewer)
decoder.onnx   ``target`` [B, T] int64, ``past_keys.{i}`` and ``past_values.{i}`` [B, G, P, D/H] of the P steps so far,
               and with an encoder ``source_valid_lens``, ``cross_keys.{i}``, ``cross_values.{i}``
               -> ``logits`` [B, T, V], ``keys.{i}`` and ``values.{i}`` [B, G, P + T, D/H], the next step's past
vocabularies   ``source_vocabulary.json``, ``target_vocabulary.json``, where the model has them, and tokenizers of subwords
=============  ==========================================================================================================

A side that the architecture lacks has no file. Everything is float32. The property ``transformer_mb.config`` of each file
holds the configuration, so that the folder can be run alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...checkpoint.files import TOKENIZERS, VOCABULARIES, write_vocabularies
from ...config import TransformerConfig
from ...positions import sinusoid_table
from ..kinds import Family, Format, Loading, Settings
from ..model import PortedModel
from .onnx_builder import ROTARY, GraphBuilder, Layers, rotary_rows

CONFIG_PROPERTY = "transformer_mb.config"
ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
LARGEST = 2**31 - 2**24  # bytes of weights in one file; protobuf ends at 2 GiB


def recognize(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (ENCODER, DECODER))


def write(model: PortedModel, folder: Path) -> None:
    """Fill a folder; raises OSError when a file cannot be written."""
    import onnx

    metadata = {CONFIG_PROPERTY: model.config.to_json()}
    graphs = {}
    if model.config.has_encoder:
        graphs[ENCODER] = encoder_graph(model)
    if model.config.has_decoder:
        graphs[DECODER] = decoder_graph(model)
    for name, graph in graphs.items():
        built = graph.model(metadata)
        apart = sum(len(tensor.raw_data) for tensor in built.graph.initializer) > LARGEST
        onnx.save_model(built, folder / name, save_as_external_data=apart, location=f"{name}.data")
        onnx.checker.check_model(folder / name)
    write_vocabularies(folder, source=model.source_vocabulary, target=model.target_vocabulary)


def encoder_graph(model: PortedModel) -> GraphBuilder:
    config, graph = model.config, GraphBuilder("encoder", model.weights)
    layers = Layers(graph, config)
    source = graph.input("source", np.int64, ["batch", "source_steps"])
    valid_lens = graph.input("source_valid_lens", np.int64, ["batch"])
    types = graph.input("token_types", np.int64, ["batch", "source_steps"]) if config.token_types else None
    mask = source_mask(graph, valid_lens, graph.size(source, 1))
    X = layers.embed(source, "encoder", "encoder.embedding.weight", token_types=types)
    bias = layers.relative_bias("encoder", graph.size(source, 1), graph.size(source, 1))
    for i in range(config.encoder_num_layers):
        X = _encoder_block(layers, X, mask, bias, f"encoder.blks.block{i}")
    X = layers.norm(X, "encoder.norm") if config.final_norm else X
    graph.output(X, "encoder", np.float32, ["batch", "source_steps", config.num_hiddens])
    if config.pooler:
        first = graph.add("Gather", X, graph.constant(0, np.int64), axis=1)
        graph.output(
            graph.add("Tanh", layers.linear(first, "pooler.dense")), "pooled", np.float32, ["batch", config.num_hiddens]
        )
    if config.has_decoder:
        shape = cache_shape(config, "source_steps")
        for i in range(config.decoder_num_layers):
            for kind, projection in (("keys", "W_k"), ("values", "W_v")):
                name = f"decoder.blks.block{i}.attention2.{projection}"
                graph.output(layers.heads(X, name), f"cross_{kind}.{i}", np.float32, shape)
    return graph


def decoder_graph(model: PortedModel) -> GraphBuilder:
    config, graph = model.config, GraphBuilder("decoder", model.weights)
    layers = Layers(graph, config)
    target = graph.input("target", np.int64, ["batch", "target_steps"])
    caches = [_cache_inputs(graph, config, i) for i in range(config.decoder_num_layers)]
    past = graph.size(caches[0]["past_keys"], 2)
    every = graph.add("Add", past, graph.size(target, 1))
    causal, across = None, None
    if config.compat_decode == "correct":
        # Query t is step past + t and attends to keys up to itself.
        queries = graph.unsqueeze(graph.steps(graph.size(target, 1), past), 1)
        causal = graph.add("LessOrEqual", graph.steps(every), queries)  # [T, P + T]
    if config.has_encoder:
        valid_lens = graph.input("source_valid_lens", np.int64, ["batch"])
        across = source_mask(graph, valid_lens, graph.size(caches[0]["cross_keys"], 2))
    table = "encoder.embedding.weight" if config.share_embeddings else "decoder.embedding.weight"
    # The book's predictor feeds every step at position 0.
    X = layers.embed(target, "decoder", table, first=past if config.compat_decode == "correct" else None)
    bias = layers.relative_bias("decoder", graph.size(target, 1), every, past)
    for i, cache in enumerate(caches):
        X = _decoder_block(layers, X, cache, causal, across, bias, i)
    X = layers.norm(X, "decoder.norm") if config.final_norm else X
    if config.output_scale:
        X = graph.add("Mul", X, graph.constant(config.num_hiddens**-0.5, np.float32))
    logits = layers.linear(X, "decoder.dense", table if config.tie_output else None)
    graph.output(logits, "logits", np.float32, ["batch", "target_steps", config.target_vocab_size or 0])
    return graph


def source_mask(graph: GraphBuilder, valid_lens: str, steps: str) -> str:
    """[B] lengths -> [B, 1, 1, S], True at the leading keys."""
    return graph.unsqueeze(graph.add("Less", graph.steps(steps), graph.unsqueeze(valid_lens, 1)), 1, 2)


def cache_shape(config: TransformerConfig, steps: str) -> list[str | int]:
    return ["batch", config.kv_heads("decoder"), steps, config.head_width("decoder")]


def _cache_inputs(graph: GraphBuilder, config: TransformerConfig, i: int) -> dict[str, str]:
    steps = {"past": "past_steps", **({"cross": "source_steps"} if config.has_encoder else {})}
    return {
        f"{which}_{kind}": graph.input(f"{which}_{kind}.{i}", np.float32, cache_shape(config, axis))
        for which, axis in steps.items()
        for kind in ("keys", "values")
    }


def _encoder_block(layers: Layers, X: str, mask: str, bias: str | None, name: str) -> str:
    Y = layers.sublayer_input(X, f"{name}.addnorm1")
    queries, keys, values = (layers.heads(Y, f"{name}.attention.{one}") for one in ("W_q", "W_k", "W_v"))
    queries, keys = layers.turned(queries), layers.turned(keys)
    X = layers.add_norm(X, layers.attention(queries, keys, values, mask, f"{name}.attention", bias), f"{name}.addnorm1")
    Y = layers.feed_forward(layers.sublayer_input(X, f"{name}.addnorm2"), f"{name}.ffn")
    return layers.add_norm(X, Y, f"{name}.addnorm2")


def _decoder_block(
    layers: Layers, X: str, cache: dict[str, str], causal: str | None, across: str | None, bias: str | None, i: int
) -> str:
    graph, name = layers.graph, f"decoder.blks.block{i}"
    Y = layers.sublayer_input(X, f"{name}.addnorm1")
    queries, keys, values = (layers.heads(Y, f"{name}.attention1.{one}") for one in ("W_q", "W_k", "W_v"))
    queries, keys = layers.turned(queries), layers.turned(keys)
    keys = graph.add("Concat", cache["past_keys"], keys, axis=2)
    values = graph.add("Concat", cache["past_values"], values, axis=2)
    for kind, value in (("keys", keys), ("values", values)):
        graph.output(value, f"{kind}.{i}", np.float32, cache_shape(layers.config, "all_steps"))
    X = layers.add_norm(X, layers.attention(queries, keys, values, causal, f"{name}.attention1", bias), f"{name}.addnorm1")
    if across is not None:
        queries = layers.heads(layers.sublayer_input(X, f"{name}.addnorm2"), f"{name}.attention2.W_q")
        Y = layers.attention(queries, cache["cross_keys"], cache["cross_values"], across, f"{name}.attention2")
        X = layers.add_norm(X, Y, f"{name}.addnorm2")
    Y = layers.feed_forward(layers.sublayer_input(X, f"{name}.addnorm3"), f"{name}.ffn")
    return layers.add_norm(X, Y, f"{name}.addnorm3")


def loading(model: PortedModel, container: Format | None, settings: Settings) -> Loading:
    """Return the lines that load one session, or those of both sides."""
    sides = [side for side in ("encoder", "decoder") if getattr(model.config, f"has_{side}")]
    made = {side: f"onnxruntime.InferenceSession({{path}} + '/{side}.onnx')" for side in sides}
    one = [f"model = {made[sides[0]]}"]
    lines = one if len(sides) == 1 else [*(f"{side} = {session}" for side, session in made.items()), "model = encoder, decoder"]
    return Loading(into=ROW.into, lines=("import onnxruntime", *lines))


def read_back(model: PortedModel, folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """Every initializer of every file, also of data that lies beside it.

    A weight must be the same wherever it is stored; the rest must be what its name says, computed anew.
    """
    import onnx
    from onnx import numpy_helper

    stored: dict[str, np.ndarray] = {}
    unexplained = []
    for path in sorted(folder.glob("*.onnx")):
        for tensor in onnx.load(path).graph.initializer:
            name, array = tensor.name, numpy_helper.to_array(tensor)
            if name in model.weights:
                array = _whole(model, name, array)
                if name in stored and not np.array_equal(stored[name], array):
                    unexplained.append(f"{name} of {path.name}")
                stored[name] = array
            elif not _is_constant(name, array) and not _same(_computed(model, name, path.stem), array):
                unexplained.append(f"{name} of {path.name}")
    return stored, unexplained


def _whole(model: PortedModel, name: str, array: np.ndarray) -> np.ndarray:
    """A table of positions is stored from the first that is used."""
    offset = model.config.position_offset
    if not offset or not name.endswith(".pos_embedding.weight"):
        return array
    return np.concatenate([np.asarray(model.weights[name][:offset], np.float32), array])


def _is_constant(name: str, array: np.ndarray) -> bool:
    """A constant is called by its type and its numbers."""
    return name == f"constant_{array.dtype.name}_{'_'.join(map(str, array.ravel()))}_{array.ndim}"


def _computed(model: PortedModel, name: str, side: str) -> np.ndarray | None:
    config = model.config
    if name in ROTARY:
        return rotary_rows(config, config.head_width(side), name).astype(np.float32)
    if name == "positions":
        rows = sinusoid_table(config.max_len + config.position_offset, config.num_hiddens, config.sinusoid_layout)
        return rows[config.position_offset :].astype(np.float32)
    fills = {"no_scale": np.ones, "no_shift": np.zeros}
    return fills[name](config.num_hiddens, np.float32) if name in fills else None


def _same(expected: np.ndarray | None, array: np.ndarray) -> bool:
    return expected is not None and expected.dtype == array.dtype and np.array_equal(expected, array)


ROW = Family(
    name="onnx",
    title="ONNX encoder and cached decoder step",
    kind="export",
    recognize=recognize,
    write=write,
    read_back=read_back,
    runs="proof.reference_runs.engines:run_onnx",
    requires=("onnx", "onnxruntime"),
    files=("encoder.onnx*", "decoder.onnx*", *VOCABULARIES.values(), *TOKENIZERS),
    into="onnxruntime",
    loading=loading,
)
