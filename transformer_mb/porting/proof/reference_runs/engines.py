"""Engines of exports on a folder that was written, and our own backends on tensors of the D2L family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....call_checks import check_source, check_target, check_tokens
from ....config import TransformerConfig
from ....errors import PortError
from ....registry import get_backend
from ...exports.onnx import CONFIG_PROPERTY, DECODER, ENCODER
from ...families import d2l
from ...formats import FORMATS
from ...formats.native_loaders import LOADERS
from ...model import NativeFile
from .. import probe
from ..probe import END, padded_tokens, parts

Arrays = dict[str, np.ndarray]
ONE_THREAD = {"device": "cpu", "compute_type": "float32", "inter_threads": 1, "intra_threads": 1}
# With the engine's own defaults a sentence has at least one token, and longer sources are cut.
GREEDY = {"beam_size": 1, "min_decoding_length": 0, "max_input_length": 0, "max_batch_size": 64}


def run_ctranslate2(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """An encoder and a decoder together show ``logits`` and ``tokens``, no states.

    The logits of tokens that decoding never produces are far below all others.
    """
    import ctranslate2

    config = TransformerConfig.from_dict(settings["config"])
    one = _encoded if not config.has_decoder else _translated if config.has_encoder else _continued
    return one(parts(arrays)[0], settings), {"ran": f"ctranslate2 {ctranslate2.__version__}"}


def _encoded(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Arrays:
    import ctranslate2

    encoder = ctranslate2.Encoder(settings["path"], **ONE_THREAD)
    types = [row.tolist() for row in arrays["token_types"]] if "token_types" in arrays else None
    source, lens = (np.ascontiguousarray(arrays[name], np.int32) for name in ("source", "source_valid_lens"))
    view = ctranslate2.StorageView.from_array
    output = encoder.forward_batch(view(source), view(lens), token_type_ids=types)
    outputs = {"encoder": np.array(output.last_hidden_state)}
    if settings["config"]["pooler"]:
        outputs["pooled"] = np.array(output.pooler_output)
    return outputs


def _continued(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Arrays:
    import ctranslate2

    generator = ctranslate2.Generator(settings["path"], **ONE_THREAD)
    return {"logits": np.array(generator.forward_batch(arrays["target"].tolist()))}


def _translated(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Arrays:
    import ctranslate2

    translator = ctranslate2.Translator(settings["path"], **ONE_THREAD)
    source_tokens, target_tokens = vocabularies(settings["path"])
    described = json.loads((Path(settings["path"]) / "config.json").read_text(encoding="utf-8"))
    ending = [source_tokens[settings["config"]["eos_id"]]] if described.get("add_source_eos") else []
    sources = [
        _without([source_tokens[number] for number in row[:length]], ending)
        for row, length in zip(arrays["source"].tolist(), arrays["source_valid_lens"].tolist(), strict=True)
    ]
    numbers, steps = {token: number for number, token in enumerate(target_tokens)}, settings["max_steps"]
    results = translator.translate_batch(sources, max_decoding_length=steps, **GREEDY)
    sentences = [[numbers[token] for token in one.hypotheses[0]] for one in results]
    outputs = {"tokens": padded_tokens(sentences, steps)}
    if "target" in arrays:
        targets = [[target_tokens[number] for number in row] for row in arrays["target"].tolist()]
        outputs["logits"] = _logits(translator, sources, targets)
    return outputs


def _without(sentence: list[str], ending: list[str]) -> list[str]:
    """A source without the end that the engine itself appends."""
    if not ending:
        return sentence
    if sentence[-1:] != ending:
        raise PortError(f"Sources must end in {ending[0]}, as the engine ends them, got {sentence[-1]}.")
    return sentence[:-1]


def _logits(translator: Any, sources: list[list[str]], targets: list[list[str]]) -> np.ndarray:
    """[B, T, V]. The engine shows them of the step that it decodes, so each step is decoded after the tokens before it."""
    steps = []
    for step in range(len(targets[0])):
        prefix = [row[1 : step + 1] for row in targets]  # the start token is the engine's own
        options = {**GREEDY, "max_decoding_length": step + 1, "return_logits_vocab": True}
        results = translator.translate_batch(sources, target_prefix=prefix, **options)
        steps.append([np.array(one.logits[0][-1]).reshape(-1) for one in results])
    return np.stack(steps, axis=1)


def vocabularies(path: str) -> tuple[list[str], list[str]]:
    """The tokens by id of both sides of a folder."""
    shared = Path(path) / "shared_vocabulary.json"
    names = [shared, shared] if shared.is_file() else [Path(path) / f"{side}_vocabulary.json" for side in ("source", "target")]
    source, target = (json.loads(name.read_text(encoding="utf-8")) for name in names)
    return source, target


def run_onnx(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Run an exported folder: logits of all steps at once, tokens by the cached step, one at a time."""
    import onnxruntime

    model, batch = OnnxFolder(Path(settings["path"]), settings.get("threads")), parts(arrays)[0]
    config, outputs, memory = model.config, {}, {}
    if config.has_encoder:
        source, lens = check_source(config, batch["source"], batch["source_valid_lens"])
        inputs = {"source": source, "source_valid_lens": lens}
        if config.token_types:
            types = batch.get("token_types", np.zeros_like(source))
            inputs["token_types"] = check_tokens("token_types", types, config.token_types, config.max_len)
        encoded = model.run(ENCODER, inputs)
        outputs = {name: encoded[name] for name in ("encoder", *(["pooled"] if config.pooler else []))}
        memory = {"source_valid_lens": lens, **{name: a for name, a in encoded.items() if name.startswith("cross_")}}
    if config.has_decoder:
        target = check_target(config, batch["target"], len(memory["source_valid_lens"]) if memory else None)
        outputs["logits"] = model.step(target, memory, model.empty(len(target)))[0]
    if config.has_encoder and config.has_decoder:
        outputs["tokens"] = model.greedy(memory, len(target), settings["max_steps"])
    return outputs, {"ran": f"onnxruntime {onnxruntime.__version__}"}


class OnnxFolder:
    """An exported folder, NumPy in and out, float32; ``threads`` None takes onnxruntime's choice, which is all cores.

    Raises PortError where the folder does not hold an export of ours.
    """

    def __init__(self, folder: Path, threads: int | None):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0
        files = [name for name in (ENCODER, DECODER) if (folder / name).is_file()]
        if not files:
            raise PortError(f"{folder} must hold {ENCODER} or {DECODER}, but it holds neither.")
        cpu = ["CPUExecutionProvider"]
        self.sessions = {name: onnxruntime.InferenceSession(folder / name, options, providers=cpu) for name in files}
        properties = self.sessions[files[0]].get_modelmeta().custom_metadata_map
        if CONFIG_PROPERTY not in properties:
            raise PortError(f"The ONNX files in {folder} must have the property {CONFIG_PROPERTY}, but they lack it.")
        self.config = TransformerConfig.from_json(properties[CONFIG_PROPERTY])

    def run(self, name: str, inputs: Arrays) -> Arrays:
        names = [output.name for output in self.sessions[name].get_outputs()]
        return dict(zip(names, self.sessions[name].run(names, inputs), strict=True))

    def empty(self, batch: int) -> Arrays:
        """The past of the first step."""
        nothing = np.zeros((batch, self.config.kv_heads("decoder"), 0, self.config.head_width("decoder")), np.float32)
        return {f"past_{kind}.{i}": nothing for i in range(self.config.decoder_num_layers) for kind in ("keys", "values")}

    def step(self, tokens: np.ndarray, memory: Arrays, past: Arrays) -> tuple[np.ndarray, Arrays]:
        """Logits [B, T, V] of tokens [B, T] after those of ``past``, and the next step's."""
        outputs = self.run(DECODER, {"target": tokens.astype(np.int64), **memory, **past})
        return outputs.pop("logits"), {f"past_{name}": value for name, value in outputs.items()}

    def greedy(self, memory: Arrays, batch: int, max_steps: int) -> np.ndarray:
        """[B, max_steps] of the most probable token at each step, without start and eos."""
        config, rows = self.config, []
        tokens, past = np.full((batch, 1), config.start_id), self.empty(batch)
        for _ in range(max_steps):
            logits, past = self.step(tokens, memory, past)
            logits[:, :, list(config.suppress_ids)] = -np.inf
            tokens = logits.argmax(axis=-1)
            rows.append(tokens[:, 0])
        ended = np.maximum.accumulate(np.stack(rows, axis=1) == config.eos_id, axis=1)
        return np.where(ended, END, np.stack(rows, axis=1))


def run_backend(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Run the tensors of a source; or a file that was just written, loaded by the ``lines`` that its users get."""
    config, format_name = TransformerConfig.from_dict(settings["config"]), settings["format"]
    name = FORMATS[format_name].backend
    backend = get_backend(name)
    batch, tensors = parts(arrays)
    ran = f"our {name} backend ({name} {backend.version()})"
    if settings.get("lines"):
        names: dict[str, Any] = {}
        exec("\n".join(settings["lines"]), names)
        return probe.run_model(backend, names["model"], batch), {"ran": f"{ran}, loaded by the lines below"}
    if "path" in settings:
        tensors = LOADERS[format_name](Path(settings["path"]))
    native = NativeFile(format=format_name, tensors=tensors, settings=config.to_dict())
    model = d2l.read(native, settings["given"])
    return probe.run_backend(backend, model.config, model.weights, batch), {"ran": ran}
