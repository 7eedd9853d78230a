"""The computations of a backend for the matrix, the reference included: named arrays in, named arrays out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numpy as np

from ...backend import Backend
from ...batch import Batch
from ...columns.messages import Arrays
from .making import (
    Spec,
    batch_of,
    check_mode,
    check_unchanged,
    continued_trainer,
    frozen,
    kept_unasked,
    kept_weights,
    layer_of,
    masks_of,
    model_of,
    trainer_for,
    trainer_of,
)
from .messages import Request, named, recorded_dtypes, under, with_arrays, with_dtypes
from .thresholds import TINY, tiny

Answer = dict[str, np.ndarray]


def layer(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """A layer's or function's ``output``; with a ``cotangent`` the ``gradient`` of its inputs and parameters too."""
    native, inputs = layer_of(backend, spec, arrays), with_arrays(spec["inputs"], arrays)
    call = {name: with_arrays(value, arrays) for name, value in spec["call"].items()}
    if masks := under("masks", arrays):
        call["dropout_masks"] = masks
    answer = _layer_answer(backend, native, inputs, {**call, "training": spec["training"]}, arrays.get("cotangent"))
    check_mode(native)
    return answer


def _layer_answer(backend: Backend, native: Any, inputs: list[Any], call: Spec, cotangent: np.ndarray | None) -> Answer:
    """Call a layer, and return its ``attention`` weights where they are asked for; elsewhere it is to keep none."""
    output = backend.apply(native, *inputs, **call)
    answer = {"output": output[0] if isinstance(output, tuple) else output}
    answer |= {"attention": kept_weights(backend, native)} if call.get("need_weights") else kept_unasked(native)
    if cotangent is not None:
        answer["output_with_gradient"], by_input, by_name = backend.gradients(native, inputs, cotangent, **call)
        answer |= {f"gradient.input {i}": value for i, value in enumerate(by_input) if value is not None}
        answer |= named("gradient", by_name)
    return answer


def model(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """Compute what is ``wanted`` of a model: ``states``, ``logits``, ``pooled``, ``attention``, ``loss`` with ``gradient``."""
    native = model_of(backend, spec["config"], arrays)
    batch, wanted = under("batch", arrays), spec["wanted"]
    answer: Answer = {}
    source, lens = batch.get("source"), batch.get("source_valid_lens")
    # First, so that what it keeps would be found where it is no longer asked for.
    if "attention" in wanted:
        maps = backend.attention(native, source, batch.get("target_in"), lens)
        answer |= {f"attention.{name}.{i}": value for name, values in maps.items() for i, value in enumerate(values)}
    if "states" in wanted:
        answer["states"] = backend.encode(native, source, lens, batch.get("token_types"))
        answer |= kept_unasked(native.encoder)
    if "pooled" in wanted:
        answer["pooled"] = backend.apply(native.pooler, answer["states"])
    if "logits" in wanted:
        answer["logits"] = backend.logits(native, source, batch["target_in"], lens)
        answer |= kept_unasked(native.decoder)
    if "encoder gradients" in wanted:
        answer |= _encoder_gradients(backend, native, batch, arrays, answer["states"])
    if "loss" in wanted:
        masks = under("masks", arrays) or None
        loss, gradients = backend.loss_and_gradients(native, batch_of(batch), **spec["loss"], dropout_masks=masks)
        answer |= {"loss": np.asarray(loss), **named("gradient", gradients)}
    check_mode(native)
    return answer


def _encoder_gradients(backend: Backend, native: Any, batch: Arrays, arrays: Arrays, states: np.ndarray) -> Answer:
    """Differentiate an encoder alone, which has no loss: its parameters, and those of its pooler."""
    options: dict[str, Any] = {"token_types": batch["token_types"]} if "token_types" in batch else {}
    inputs = [batch["source"], batch["source_valid_lens"]]
    answer = named("gradient", backend.gradients(native.encoder, inputs, arrays["cotangent"], **options)[2])
    if native.config.pooler:
        _, by_input, by_name = backend.gradients(native.pooler, [states], arrays["pooled cotangent"])
        answer |= named("gradient.pooler", by_name)
        answer |= {f"gradient.states {i}": value for i, value in enumerate(by_input) if value is not None}
    return answer


def part(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """The ``output`` of one sublayer of a model, found by its canonical path, or of one of its methods.

    With a ``cotangent`` the ``gradient`` of its inputs and parameters too.
    """
    owner = _part(model_of(backend, spec["config"], arrays), spec["path"])
    called = getattr(owner, spec["method"]) if spec["method"] else owner
    call = {name: with_arrays(value, arrays) for name, value in spec["call"].items()}
    return _layer_answer(backend, called, with_arrays(spec["inputs"], arrays), call, arrays.get("cotangent"))


def _part(native: Any, path: str) -> Any:
    """Blocks are numbered in a native container of each framework's own kind; all else are attributes."""
    for name in path.split("."):
        native = list(native)[int(name.removeprefix("block"))] if name.startswith("block") else getattr(native, name)
    return native


def update(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """Optimizer steps from given weights, moments and gradients, at a rate that falls: the new ``weights`` and ``slots``."""
    trainer, native = trainer_of(backend, spec, arrays)
    for count in range(spec["updates"]):
        trainer.learning_rate = trainer.options.learning_rate / (count + 1)
        trainer.update(under("gradients", arrays))
    return named("weights", backend.get_weights(native)) | named("slots", trainer.slots())


def step(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """Put into a state: the loss and its gradients, and what an update by the given gradients makes of the state."""
    trainer, native = trainer_of(backend, spec, arrays)
    options, batch = trainer.options, batch_of(under("batch", arrays))
    loss, gradients = backend.loss_and_gradients(
        native,
        batch,
        normalization=options.normalization,
        label_smoothing=options.label_smoothing,
        dropout_masks=masks_of(native.config, batch, spec["seed"], spec["step_count"]),
    )
    given = under("gradients", arrays) or gradients
    trainer.update(given)
    answer = {"loss": np.asarray(loss), **named("gradient", gradients)}
    return answer | named("weights", backend.get_weights(native)) | named("slots", trainer.slots())


def whole_step(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """The ``loss`` of a trainer's own step with the options in ``fast``, and the ``gradient`` that moved its weights.

    The step is plain SGD, whose learning rate is large enough that nothing of the gradient is lost beside the weights. It is
    taken ``times``, from the same weights: what is captured while it runs is then run again, and the last one answers.
    """
    native = model_of(backend, spec["config"], arrays)
    before = backend.get_weights(native)
    trainer = backend.trainer(native, **spec["options"], **spec["fast"])
    for _ in range(spec["times"]):
        backend.set_weights(native, before)
        loss = float(trainer.step(batch_of(under("batch", arrays)), dropout_masks=under("masks", arrays)))
    rate, answer = spec["options"]["learning_rate"], {"loss": np.asarray(loss)}
    for name, value in backend.get_weights(native).items():
        gradient = (before[name].astype(np.float64) - value) / rate
        answer[f"gradient.{name}"] = gradient.astype(value.dtype)
    return answer


def eight_bits(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """The ``logits`` of a model, whose linear layers multiply whole numbers of eight bits where ``fast`` says int8.

    ``logits.last``: of the token that a search finds most probable after the ``prefix``, its log-probability.
    """
    native, batch = model_of(backend, spec["config"], arrays), under("batch", arrays)
    native = backend.quantized(native) if spec["fast"].get("dtype") == "int8" else native
    source, lens, prefix = batch["source"], batch["source_valid_lens"], spec["prefix"]
    found = backend.hypotheses(native, source, lens, len(prefix) + 1, 1, n_best=1, prefixes=[prefix] * len(source))
    logits = backend.logits(native, source, batch["target_in"], lens)
    return {"logits": logits, "logits.last": np.array([best.log_probability for (best,) in found], backend.dtype)}


def run(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """``steps`` whole training steps with injected dropout: the ``losses``, and the states after those of ``states_at``.

    ``batches`` [steps, B, T] hold one batch a step.
    """
    trainer, native = (continued_trainer if under("slots", arrays) else trainer_of)(backend, spec, arrays)
    losses = []
    answer: Answer = {}
    for count, batch in enumerate(_batches(spec, arrays), spec["step_count"]):
        losses.append(float(trainer.step(batch, dropout_masks=masks_of(native.config, batch, spec["seed"], count))))
        if trainer.step_count in spec.get("states_at", ()):
            state = named("weights", backend.get_weights(native)) | named("slots", trainer.slots())
            answer |= named(f"state {trainer.step_count}", state)
    return {"losses": np.array(losses), **answer}


def train(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """Train, after an evaluation, and return ``losses``, ``weights`` and moments.

    Another trainer of the same model is made first, and takes no step. Where the framework keeps a mode, as PyTorch does, it is
    then that of evaluation. The learning rate falls with the trainer's own count of steps. A step takes the next
    ``accumulate`` of the batches, which may differ in their widths. Before the steps in ``set_before``, counted from 0, the
    model is given its first weights again; the moments stay. Parameters in ``frozen`` learn nothing, and their moments are left
    out.
    """
    native = model_of(backend, spec["config"], arrays)
    with frozen(backend, native, spec) as put_back:
        return _trained(backend, native, spec, arrays, put_back)


def _trained(backend: Backend, native: Any, spec: Spec, arrays: Arrays, put_back: Collection[str]) -> Answer:
    trainer, native = trainer_of(backend, spec, arrays)
    trainer_for(backend, native, spec)
    each = spec["accumulate"]
    batches = [batch_of(under(f"batches.{number}", arrays)) for number in range(spec["steps"] * each)]
    backend.logits(native, batches[0].source, batches[0].target_in, batches[0].source_valid_lens)
    if hasattr(native, "eval"):
        native.eval()
    masks = [masks_of(native.config, batch, spec["seed"], count) for count, batch in enumerate(batches)]
    losses = []
    for count in range(spec["steps"]):
        if count in spec["set_before"]:
            backend.set_weights(native, under("weights", arrays))
        trainer.learning_rate = trainer.options.learning_rate / (trainer.step_count + 1)
        own = slice(count * each, (count + 1) * each)
        losses.append(float(trainer.accumulated_step(batches[own], masks[own])))
        if put_back:
            first = {name: arrays[f"weights.{name}"] for name in put_back}
            backend.set_weights(native, {**backend.get_weights(native), **first})
    slots = {name: value for name, value in trainer.slots().items() if name.partition(".")[2] not in spec.get("frozen", ())}
    return {"losses": np.array(losses), **named("weights", backend.get_weights(native)), **named("slots", slots)}


def parts(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """Return for each of the ``counts`` the momentum after a step on this number of equal parts, the ``last`` by itself.

    From nothing it is the gradient, which of a model in two bytes too is kept in float32.
    """
    answer: Answer = {}
    batch, last = (batch_of(under(name, arrays)) for name in ("batch", "last"))
    for word, count in spec["counts"].items():
        trainer, _ = trainer_of(backend, spec, arrays)
        trainer.accumulated_step([*[batch] * (count - 1), last])
        answer |= named(word, trainer.slots())
    return answer


def repeated(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """``losses``, ``weights`` and moments of a few steps whose dropout the trainer draws; and ``again`` of the same from anew.

    ``seeds``: of the first and of the second time, and of a third, of which the ``losses`` alone count.
    """
    times = [_steps(backend, {**spec, "options": {**spec["options"], "seed": seed}}, arrays) for seed in spec["seeds"]]
    return times[0] | named("again", times[1]) | {"other.losses": times[2]["losses"]}


def _steps(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    trainer, native = trainer_of(backend, spec, arrays)
    losses = np.array([float(trainer.step(batch_of(under("batch", arrays)))) for _ in range(spec["steps"])])
    return {"losses": losses, **named("weights", backend.get_weights(native)), **named("slots", trainer.slots())}


def _batches(spec: Spec, arrays: Arrays) -> list[Batch]:
    batches = under("batches", arrays)
    return [batch_of({name: value[number] for name, value in batches.items()}) for number in range(spec["steps"])]


# By name: a function, here or in a module beside this one, which is imported when it is first asked for.
COMPUTATIONS: dict[str, Callable[[Backend, Spec, Arrays], Answer] | str] = {
    **{one.__name__: one for one in (layer, model, part, update, step, whole_step, eight_bits, run, train, parts, repeated)},
    **{"decode": "decoding", "cached": "decoding", "life": "life", "made": "made", "masks": "mask_reading", "draw": "decoding"},
    **{"draw_given": "decoding", "listed": "decoding", "refused": "refusing", "forwards": "forward_mode"},
}


def compute(backend: Backend, request: Request) -> Answer:
    """Answer a request, and say in which dtype the framework gave each output.

    Raises ParityError where that has changed an array of the request, which is the caller's.
    """
    before = {name: value.copy() for name, value in request.arrays.items()}
    asked: Any = COMPUTATIONS[request.computation]
    if isinstance(asked, str):
        asked = getattr(import_module(f"{__package__}.{asked}"), request.computation)
    with _told(backend, request.spec.get("setting")), recorded_dtypes(backend) as dtype_of:
        answer = with_dtypes(asked(backend, request.spec, request.arrays), dtype_of)
    check_unchanged(before, request.arrays)
    return answer


def _told(backend: Backend, setting: str | None) -> AbstractContextManager[None]:
    if setting == TINY:
        return tiny(backend.name)
    return nullcontext() if setting is None else backend.gpu_settings[setting]()
