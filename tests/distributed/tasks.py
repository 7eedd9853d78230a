"""What processes of a test do together; each task returns what JSON can hold."""

import math
import signal
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import transformer_mb.trainer
from distributed import mistakes
from transformer_mb.batch import Batch
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.config import TransformerConfig
from transformer_mb.data import Batches, build_vocabularies, demo_pairs, pair_ids
from transformer_mb.distributed import Alone
from transformer_mb.dropout_masks import dropout_masks
from transformer_mb.errors import TransformerMBError
from transformer_mb.parity.verdict.limits import worst
from transformer_mb.registry import get_backend
from transformer_mb.training import Job, Progress, TrainingInterrupted, TrainingRecipe, agreement, train_model
from transformer_mb.training.validation import Translated

STEPS = 50
OF_ONE = {}  # what one process gave, by what it was asked for
WIDTH = 7
CONFIG = TransformerConfig(
    source_vocab_size=13, target_vocab_size=11, num_hiddens=8, ffn_num_hiddens=12, encoder_num_heads=2, decoder_num_heads=2,
    encoder_num_layers=1, decoder_num_layers=1, dropout=0.2, max_len=16,
)  # fmt: skip


def batch_of(step, rows):
    """Rows of very different lengths."""
    generator = np.random.default_rng((7, step))
    source, target_in, target_out = (
        generator.integers(4, size, (rows, WIDTH))
        for size in (CONFIG.source_vocab_size, CONFIG.target_vocab_size, CONFIG.target_vocab_size)
    )
    lengths = np.sort(generator.integers(1, WIDTH + 1, rows))[::-1]  # so that the first process has most of the tokens
    return Batch(source, generator.integers(1, WIDTH + 1, rows), target_in, target_out, np.ascontiguousarray(lengths))


def options_of(optimizer, normalization, label_smoothing):
    rates = {"adam": {"learning_rate": 0.01, "eps": 1e-6}, "sgd": {"learning_rate": 0.1, "momentum": 0.5}}[optimizer]
    # Norms are from 0.3 to 3: some steps are clipped, and the share of one process at others than the sum.
    asked = {"optimizer": optimizer, "normalization": normalization, "label_smoothing": label_smoothing}
    return {**asked, "clip_norm": mistakes.CLIP_NORM, **rates}


def trained(backend, processes, options, injected, rows=(5,), steps=STEPS):
    """The losses of all steps, as shares, and the weights after them; ``rows`` are those of the batches in turn."""
    model = backend.build(CONFIG, seed=3)
    trainer = backend.trainer(model, **options)
    trainer.join(processes)
    shares = []
    for step in range(steps):
        batch = batch_of(step, rows[step % len(rows)])
        masks = dropout_masks(CONFIG, 5, step, len(batch.source), WIDTH, WIDTH) if injected else None
        shares.append(float(trainer.step(batch, masks)))
    return np.array(shares), backend.get_weights(trainer.gathered())


def apart(weights, expected):
    """The largest difference, per array relative to its largest number."""
    return worst(float(np.abs(weights[name] - expected[name]).max() / np.abs(expected[name]).max()) for name in expected)


def compared(name, processes, folder, optimizer, normalization, label_smoothing, dtype, rows, mistake=None):
    """How far 50 steps of all processes are from those of one: of every loss, and of every weight."""
    backend = get_backend(name, dtype=dtype)
    options = options_of(optimizer, normalization, label_smoothing)
    made = processes
    if mistake is not None:
        transformer_mb.trainer.share, made, changes = mistakes.planted(mistake, processes)
        options |= changes
    try:
        shares, weights = trained(backend, made, options, True, rows)
    finally:
        transformer_mb.trainer.share = mistakes.share
    losses = processes.sum(shares)
    if processes.rank:
        return None
    case = optimizer, normalization, label_smoothing, dtype
    if case not in OF_ONE:
        OF_ONE[case] = trained(backend, Alone(), options_of(*case[:3]), True, rows)
    expected_losses, expected = OF_ONE[case]
    return {"losses": float((np.abs(losses - expected_losses) / expected_losses).max()), "weights": apart(weights, expected)}


def own_dropout(name, processes, folder):
    """Twice the same steps with the framework's own dropout: the weights, compared bit for bit, and with those of one."""
    backend, options = get_backend(name, dtype="float64"), options_of("adam", "tokens", 0.0)
    (_, first), (_, second) = (trained(backend, processes, options, False, [4], steps=4) for _ in range(2))
    again = all(np.array_equal(first[key], second[key]) for key in first)
    alone = None if processes.rank else apart(first, trained(backend, Alone(), options, False, [4], steps=4)[1])
    return {"again": again, "alone": alone}


def rows_alike(name, processes, folder):
    """This process's share of the loss of four equal rows: with the framework's own dropout, and without any."""
    backend, shares = get_backend(name, dtype="float64"), []
    batch = Batch(*(np.repeat(array[:1], 4, axis=0) for array in batch_of(0, 4)))
    for dropout in (CONFIG.dropout, 0.0):
        trainer = backend.trainer(backend.build(CONFIG.replace(dropout=dropout), seed=3))
        trainer.join(processes)
        shares.append(float(trainer.step(batch)))
    return shares


# Whole trainings, with checkpoints.

PAIRS = demo_pairs()[0][:40]
VOCABULARIES = build_vocabularies(PAIRS, "d2l", 2)
RECIPE = TrainingRecipe(epochs=2, batch_size=8, num_steps=9, learning_rate=0.01, schedule="linear", warmup_steps=3)
LAST = 10  # 40 pairs in batches of 8: five steps an epoch


def run(backend, processes, recipe=RECIPE, progress=None, **more):
    config = TransformerConfig(
        source_vocab_size=len(VOCABULARIES[0]), target_vocab_size=len(VOCABULARIES[1]), num_hiddens=8, ffn_num_hiddens=12,
        encoder_num_heads=2, decoder_num_heads=2, encoder_num_layers=1, decoder_num_layers=1, dropout=0.0, max_len=40,
    )  # fmt: skip
    model = backend.build(config, seed=recipe.seed)
    batches = Batches(pair_ids(PAIRS, *VOCABULARIES), recipe.batch_size, recipe.seed, num_steps=recipe.num_steps)
    more.setdefault("vocabularies", VOCABULARIES)
    state = train_model(Job(backend, batches, recipe, processes=processes, **more), model, progress)
    return {"losses": [record.loss for record in state.history]}, backend.get_weights(model)


@contextmanager
def agreeing_at_every_step():
    """So that a short training is interrupted amid an epoch."""
    before, agreement.AGREE_WITHIN = agreement.AGREE_WITHIN, 0.0
    try:
        yield
    finally:
        agreement.AGREE_WITHIN = before


class At(Progress):
    """Does something at one step."""

    def __init__(self, step, act):
        self.at, self.act = step, act

    def step(self, state):
        self.last = state.step
        if state.step == self.at:
            self.act()


def interrupted(name, processes, folder, place, alone=False):
    """A training that a signal to one process ends amid the second epoch; the step at which each of them stopped."""
    press = At(8, lambda: signal.raise_signal(signal.SIGINT) if alone or processes.rank == processes.size - 1 else None)
    if alone and processes.rank:
        return None
    try:
        with agreeing_at_every_step():
            run(get_backend(name, dtype="float64"), Alone() if alone else processes, folder=folder / place, progress=press)
    except TrainingInterrupted as stopped:
        return {"step": stopped.state.step, "status": stopped.exit_status}


def resumed(name, processes, folder, place, alone=False):
    """The rest of such a training, and how far its end is from that of one that was never interrupted, in one process."""
    if alone and processes.rank:
        return None
    backend = get_backend(name, dtype="float64")
    state, weights = run(
        backend, Alone() if alone else processes, folder=folder / place, resume=read_checkpoint(folder / place)
    )
    if "whole" not in OF_ONE:
        OF_ONE["whole"] = run(backend, Alone())
    whole, expected = OF_ONE["whole"]
    losses = worst(abs(a / b - 1) for a, b in zip(state["losses"], whole["losses"], strict=True))
    return {"losses": losses, "weights": apart(weights, expected)}


def same_bits(name, processes, folder, place):
    """Whether an interrupted and a resumed training of all processes end with the bits of one that was not interrupted."""
    backend = get_backend(name, dtype="float64")
    whole, expected = run(backend, processes)
    try:
        with agreeing_at_every_step():
            run(backend, processes, folder=folder / place, progress=At(8, lambda: signal.raise_signal(signal.SIGINT)))
    except TrainingInterrupted as stopped:
        assert stopped.state.step < LAST
    rest, weights = run(backend, processes, folder=folder / place, resume=read_checkpoint(folder / place))
    return rest == whole and all(np.array_equal(weights[key], expected[key]) for key in expected)


def files(name, processes, folder):
    """The files of a checkpoint of all processes and of one: names, and of tensors names, shapes and dtypes."""
    backend, found = get_backend(name, dtype="float64"), []
    for place, of in (("all", processes), ("one", Alone())):
        if of is processes or processes.rank == 0:
            run(backend, of, folder=folder / place)
            saved = read_checkpoint(folder / place)
            tensors = {**saved.weights, **{f"optimizer.{key}": value for key, value in saved.optimizer.items()}}
            described = {key: [list(value.shape), str(value.dtype)] for key, value in tensors.items()}
            found.append({"files": sorted(path.name for path in (folder / place).iterdir()), "tensors": described})
    return found


def loaded(name, processes, folder):
    """How far the losses of a checkpoint of all processes, as loaded here, are from those of the float64 reference."""
    checkpoint = read_checkpoint(folder / "all")
    ids = pair_ids(PAIRS[:8], *VOCABULARIES)
    batch = next(Batches(ids, 8, num_steps=RECIPE.num_steps).epoch(0))
    losses = []
    for one in (name, "numpy"):
        backend = get_backend(one, dtype="float64")
        model = backend.from_weights(checkpoint.config, checkpoint.weights)
        trainer = backend.trainer(model, **RECIPE.trainer_options())
        trainer.load_state_dict(checkpoint.optimizer)
        trainer.step(batch)
        losses.append(backend.losses(model, batch))
    return worst(abs(np.asarray(losses[0]) / np.asarray(losses[1]) - 1).reshape(-1))


def validated(name, processes, folder):
    """How far what all processes measure is from what one does: losses, and the scores of lines that two cannot halve."""
    backend = get_backend(name, dtype="float64")
    measured = [[], []]

    class Measured(Progress):
        def validated(self, record):
            measured[self.which].extend((record.validation_loss, 1.0 + record.bleu, record.chrf))

    for which, of in ((0, processes), (1, Alone())):
        progress = Measured()
        progress.which = which
        pairs = Batches(pair_ids(PAIRS[:11], *VOCABULARIES), 4, shuffle=False)
        translated = Translated(PAIRS[:11], VOCABULARIES)
        recipe = replace(RECIPE, epochs=6, learning_rate=0.05, validation_lines=7)
        run(backend, of, recipe, validation_batches=pairs, translated=translated, progress=progress)
    assert all(len(values) == 18 and values[-1] > 1.0 for values in measured), measured
    return worst(abs(a / b - 1) for a, b in zip(*measured, strict=True))


def parts(name, processes, folder):
    """The share of the weights, and of the optimizer's moments, that lies on one device after a step."""
    backend = get_backend(name, dtype="float64")
    trainer = backend.trainer(backend.build(CONFIG, seed=3), **options_of("adam", "tokens", 0.0))
    trainer.join(processes)
    trainer.step(batch_of(0, 4))
    if name == "torch":
        moments = [moment for slot in ("m", "v") for moment in trainer.moments(slot)]
        here, size = (lambda tensor: tensor.to_local().numel()), (lambda tensor: tensor.numel())
    else:
        moments = [*trainer.optimizer_state.mu.values(), *trainer.optimizer_state.nu.values()]
        here, size = (lambda array: array.addressable_shards[0].data.size), (lambda array: array.size)
    weights = [parameter.value for parameter in trainer.parameters.values()]
    return [sum(map(here, tensors)) / sum(map(size, tensors)) for tensors in (weights, moments)]


def error_of(work):
    try:
        work()
    except TransformerMBError as error:
        return f"{type(error).__name__}: {error}"


def not_finite(name, processes, folder, monkey=None):
    """The loss of one process alone is NaN at its fifth step: what each of them says, and after which step."""
    backend = get_backend(name, dtype="float64")
    trainer_class = type(backend.trainer(backend.build(CONFIG)))
    real, progress = trainer_class.run_batch, At(0, None)

    def wrong(self, *arguments):
        loss = real(self, *arguments)
        return math.nan if processes.rank == 1 and self.step_count == 5 else loss

    trainer_class.run_batch = wrong
    try:
        return error_of(lambda: run(backend, processes, progress=progress)), progress.last
    finally:
        trainer_class.run_batch = real


def forced_difference(name, processes, folder):
    """One weight of one process is changed by a thousandth at its second step: what each says, and after which step."""
    backend = get_backend(name, dtype="float64")
    kept = {}
    build = backend.build
    backend.build = lambda *arguments, **options: kept.setdefault("model", build(*arguments, **options))

    def change():
        weights = backend.get_weights(kept["model"])
        next(reversed(weights.values())).flat[0] *= 1.001
        if processes.rank == 1:
            backend.set_weights(kept["model"], weights)

    progress = At(2, change)
    recipe = TrainingRecipe.from_dict({**RECIPE.to_dict(), "epochs": 10})
    return error_of(lambda: run(backend, processes, recipe, progress=progress)), progress.last
