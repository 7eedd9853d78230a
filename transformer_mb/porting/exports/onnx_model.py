"""Running an exported ONNX folder with onnxruntime: encoder states, logits and our greedy loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...call_checks import check_lengths, check_max_steps, check_side, check_source, check_target, check_tokens
from ...config import TransformerConfig
from ...errors import PortError
from ...extras import install_command
from .onnx import CONFIG_PROPERTY, DECODER, ENCODER

Cache = dict[str, np.ndarray]


class OnnxModel:
    """The calls of ``Backend`` on exported files, NumPy in and out, float32.

    Args:
        folder: what ``onnx.write`` wrote.
        threads: None takes onnxruntime's choice, which is all cores.
    Raises:
        PortError: onnxruntime is missing, or the folder does not hold an export of ours.
    """

    def __init__(self, folder: Any, threads: int | None = None):
        self.folder = Path(folder)
        self.sessions = {name: self._session(name, threads) for name in (ENCODER, DECODER) if (self.folder / name).is_file()}
        if not self.sessions:
            raise PortError(f"{folder} must hold {ENCODER} or {DECODER}, but it holds neither.")
        properties = next(iter(self.sessions.values())).get_modelmeta().custom_metadata_map
        if CONFIG_PROPERTY not in properties:
            raise PortError(f"The ONNX files in {folder} must have the property {CONFIG_PROPERTY}, but they lack it.")
        self.config = TransformerConfig.from_json(properties[CONFIG_PROPERTY])

    def encode(self, source: Any, source_valid_lens: Any = None, token_types: Any = None) -> np.ndarray:
        """Encoder states [B, S, D]."""
        return self._encoded(source, source_valid_lens, token_types)["encoder"]

    def pooled(self, source: Any, source_valid_lens: Any = None, token_types: Any = None) -> np.ndarray:
        """[B, D], of a model with a pooler."""
        return self._encoded(source, source_valid_lens, token_types)["pooled"]

    def logits(self, source: Any, target: Any, source_valid_lens: Any = None) -> np.ndarray:
        """Logits [B, T, V] of target [B, T] fed whole."""
        check_side(self.config, "decoder", "logits")
        memory = self._memory(source, source_valid_lens) if self.config.has_encoder else {}
        batch = len(memory["source_valid_lens"]) if memory else None
        target = check_target(self.config, target, batch)
        return self._step(target, memory, self._empty(len(target)))[0]

    def greedy(self, source: Any, source_valid_lens: Any, max_steps: int) -> list[list[int]]:
        """The most probable token at each step; lists of ids without start and eos, at most ``max_steps`` long."""
        config = self.config
        check_side(config, "decoder", "greedy")
        check_side(config, "encoder", "greedy")
        memory = self._memory(source, source_valid_lens)
        batch = len(memory["source_valid_lens"])
        tokens, past = np.full((batch, 1), config.start_id), self._empty(batch)
        finished, generated = np.zeros(batch, bool), []
        for _ in range(int(check_max_steps(config, max_steps, 1)[0])):
            logits, past = self._step(tokens, memory, past)
            logits[:, :, list(config.suppress_ids)] = -np.inf
            tokens = logits.argmax(axis=-1)
            generated.append(tokens[:, 0])
            finished |= tokens[:, 0] == config.eos_id
            if finished.all():
                break
        rows = np.stack(generated, axis=1).tolist()
        return [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]

    def _session(self, name: str, threads: int | None) -> Any:
        try:
            import onnxruntime
        except ImportError:
            missing = f"Running ONNX needs onnxruntime, which is not installed. Install it with: {install_command('port')}."
            raise PortError(missing) from None
        options = onnxruntime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        return onnxruntime.InferenceSession(self.folder / name, options, providers=["CPUExecutionProvider"])

    def _encoded(self, source: Any, valid_lens: Any, token_types: Any = None) -> dict[str, np.ndarray]:
        config = self.config
        check_side(config, "encoder", "encode")
        source, valid_lens = check_source(config, source, valid_lens)
        inputs = {"source": source, "source_valid_lens": valid_lens}
        if config.token_types:
            types = np.zeros_like(source) if token_types is None else token_types
            inputs["token_types"] = check_tokens("token_types", types, config.token_types, config.max_len)
        return self._run(ENCODER, inputs)

    def _memory(self, source: Any, valid_lens: Any) -> Cache:
        """What every decoding step reads of the source."""
        encoded = self._encoded(source, valid_lens)
        crossing = {name: value for name, value in encoded.items() if name.startswith("cross_")}
        return {**crossing, "source_valid_lens": check_lengths("source_valid_lens", valid_lens, *np.shape(source))}

    def _empty(self, batch: int) -> Cache:
        """The past of the first step."""
        heads, width = self.config.decoder_num_heads, self.config.num_hiddens
        nothing = np.zeros((batch, heads, 0, width // heads), np.float32)
        return {f"past_{kind}.{i}": nothing for i in range(self.config.decoder_num_layers) for kind in ("keys", "values")}

    def _step(self, tokens: np.ndarray, memory: Cache, past: Cache) -> tuple[np.ndarray, Cache]:
        outputs = self._run(DECODER, {"target": tokens.astype(np.int64), **memory, **past})
        logits = outputs.pop("logits")
        return logits, {f"past_{name}": value for name, value in outputs.items()}

    def _run(self, name: str, inputs: Cache) -> dict[str, np.ndarray]:
        session = self.sessions[name]
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))
