"""Swaps one default at a time and trains every pair of arms, seed by seed; the file of what was measured, and its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

from ...errors import ConfigError, listed
from ...registry import get_backend
from ...reports.record import read_record
from ...reports.table import Row, Table
from ..scipy_stats import stats
from .arms import BATCH, SHOWN, STEPS, WARMUP, Trained, moved_logits, trained
from .statistics import FEWEST_PAIRED, Moved, moved
from .swaps import CONTROL, SWAPS, Swap


@dataclass(frozen=True)
class Found:
    """The effect of one swap.

    Args:
        base, swapped: held-out losses in nats per token, by seed. loss: how far they lie apart.
        logits: by how much the logits move on the trained weights, as a share of them; None where the swap is none of the
            forward pass. The median of the seeds.
    """

    swap: Swap
    base: tuple[float, ...]
    swapped: tuple[float, ...]
    loss: Moved
    logits: float | None


@dataclass(frozen=True)
class Study:
    """The effects that were measured, the largest first, and what they were measured with."""

    found: tuple[Found, ...]
    seeds: tuple[int, ...]
    steps: int
    backend: str
    version: str

    def bites(self, one: Found) -> bool:
        """Tell whether an effect's interval lies outside the control's: it moves the loss more than rounding does."""
        control = next(other.loss for other in self.found if other.swap.name == CONTROL)
        return one.loss.low > control.high or one.loss.high < control.low


def chosen(only: str = "*") -> list[Swap]:
    """The effects whose names match a pattern, or one of several with | between; the control is always among them.

    Raises: ConfigError where none does.
    """
    patterns = [part.strip() for part in only.split("|")]
    found = [swap for swap in SWAPS if any(fnmatchcase(swap.name, one) for one in patterns)]
    if not found:
        raise ConfigError(
            f"--only must match the name of one of these effects, got {only!r}:{listed(swap.name for swap in SWAPS)}"
        )
    return found + [swap for swap in SWAPS if swap.name == CONTROL and swap not in found]


def effects(
    seeds: int | Iterable[int] = 12,
    only: str = "*",
    backend: str = "numpy",
    steps: int = STEPS,
    progress: Callable[[str], None] = lambda text: None,
) -> Study:
    """Train with one default at a time swapped for another framework's, and without: the same seeds on both sides.

    Args:
        seeds: how many, or which: of initial weights, data order and dropout.
        only: a pattern of effects' names; | between several. backend: trains, in float32.
        steps: of each training. progress: called with each training that ends.
    Raises: ConfigError, naming what was expected and what was got, or that scipy is missing.
    """
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    if len(numbers) < FEWEST_PAIRED or len(set(numbers)) < len(numbers):
        raise ConfigError(f"seeds must be at least {FEWEST_PAIRED} different ones, got {seeds!r}.")
    stats()
    listed = chosen(only)
    training, wide = get_backend(backend, dtype="float32"), get_backend(backend, dtype="float64")
    outcomes = _outcomes(training, listed, numbers, steps, progress)
    found = [_found(wide, swap, outcomes, numbers) for swap in listed]
    found.sort(key=lambda one: -abs(one.loss.mean))
    return Study(tuple(found), numbers, steps, training.name, training.version())


def _outcomes(
    backend: Any, listed: Sequence[Swap], seeds: Sequence[int], steps: int, progress: Callable[[str], None]
) -> dict[tuple[str, int], Trained]:
    """Train every arm once for each seed."""
    arms = {arm.key: arm for swap in listed for arm in (swap.base, swap.swapped)}
    outcomes = {}
    for seed in seeds:
        for key, arm in arms.items():
            outcomes[key, seed] = trained(backend, arm, seed, steps)
            progress(f"{len(outcomes)} of {len(arms) * len(seeds)} trainings")
    return outcomes


def _found(backend: Any, swap: Swap, outcomes: dict[tuple[str, int], Trained], seeds: Sequence[int]) -> Found:
    base, swapped = (tuple(outcomes[arm.key, seed].loss for seed in seeds) for arm in (swap.base, swap.swapped))
    weights = [outcomes[swap.base.key, seed].weights for seed in seeds] if swap.forward else []
    logits = [moved_logits(backend, one, swap.base, swap.swapped) for one in weights]
    return Found(swap, base, swapped, moved(base, swapped), median(logits) if logits else None)


def record(study: Study) -> dict[str, Any]:
    return {
        "backend": study.backend,
        "version": study.version,
        "steps": study.steps,
        "seeds": list(study.seeds),
        "effects": [
            {
                "name": one.swap.name,
                "probes": list(one.swap.probes),
                "one": one.swap.one,
                "other": one.swap.other,
                "logits moved": one.logits,
                "loss moved": one.loss._asdict(),
                "base losses": list(one.base),
                "swapped losses": list(one.swapped),
            }
            for one in study.found
        ],
    }


def read_study(path: Path) -> Study:
    return read_record(path, "effects", study_of)


def study_of(content: Any) -> Study:
    """Return the study that ``record`` wrote; raises KeyError, TypeError or ValueError for other JSON."""
    known = {swap.name: swap for swap in SWAPS}

    def found(one: dict[str, Any]) -> Found:
        base, swapped = tuple(one["base losses"]), tuple(one["swapped losses"])
        return Found(known[one["name"]], base, swapped, Moved(**one["loss moved"]), one["logits moved"])

    return Study(
        tuple(map(found, content["effects"])), tuple(content["seeds"]), content["steps"], content["backend"], content["version"]
    )


HEAD = """# What a framework's other default does to a small model

`transformer-mb compare effects` swaps one default for another framework's in each line, with all else equal, and
trains D2L's model (two layers of width 32) on the built-in corpus: {steps} steps of {batch} pairs, Adam at 0.005 with all
gradients clipped together to a norm of 1, {warmup} steps of warm-up and then linearly to zero; {seeds} seeds, each of initial
weights, order and dropout at once. Backend {backend} {version}, float32. Defaults of SGD are
measured with SGD: with momentum 0.9 at a rate of 0.2, or, where the rate is swapped, plain and unclipped. Lines on GELU, RMS
norms and weight decay have these on both sides.

**Loss moved** is the held-out loss ({shown} unseen pairs, nats per token) with the default *to* minus the loss with the
default *from*, so that a positive figure is a worse loss with *to*. It is paired by seed and in units of the standard deviation
over seeds (of the losses with *from*): 1 is as much as another seed changes. Beside it is Student's 95 % interval of the mean,
which takes the deviation as known. Each line stands alone: of twenty swaps without any effect, about one has an interval that
excludes zero. **Logits moved** is the change of the trained weights' logits when a trained model is moved to a framework with
the other default, as a share of their root mean square, in float64.

The line *{control}* begins with every weight one float32 higher. A swap that moves the loss no more than that cannot
be told from rounding; a figure is bold where its interval does not overlap the control's.

A lower loss is no argument for a default: what helps this model in its first {steps} steps may harm another one later.

[BEHAVIOURS.md](BEHAVIOURS.md) says which framework has which default; the last column names its sections. That page is measured
on the frameworks. This page is measured on one small model, and holds for models like it.

"""
COLUMNS = ("what is swapped", "loss moved", "95 % interval", "logits moved", "from", "to")


def page(study: Study) -> str:
    head = HEAD.format(
        control=CONTROL,
        steps=study.steps,
        batch=BATCH,
        warmup=WARMUP,
        shown=SHOWN,
        seeds=len(study.seeds),
        backend=study.backend,
        version=study.version,
    )
    losses = f"\nThe losses themselves, means of the seeds:\n\n{_losses(study).markdown()}"
    return head + table(study, marked=True).markdown() + losses


def table(study: Study, marked: bool = False) -> Table:
    """Return a row for each swap. ``marked``: as Markdown, bold where it bites, with the probes that say who has what."""
    rows = [_cells(one, study.bites(one)) if marked else _plain(one) for one in study.found]
    return Table((*COLUMNS, "probes") if marked else COLUMNS, rows, numbers=() if marked else (1, 3))


def _plain(one: Found) -> Row:
    interval = f"{_signed(one.loss.low)} to {_signed(one.loss.high)}"
    # the share of the logits that moved
    share = "as they were" if one.logits is None else f"{one.logits:.1e}" if one.logits else "0"
    return (one.swap.name, _signed(one.loss.mean), interval, share, one.swap.one, one.swap.other)


def _cells(one: Found, bites: bool) -> Row:
    name, moved, *others = _plain(one)
    name, moved = f"*{name}*" if name == CONTROL else name, f"**{moved}**" if bites else moved
    return (name, moved, *others, ", ".join(one.swap.probes) or "none")


def _signed(number: float) -> str:
    """Format to two digits: an effect may be of many deviations, or of a millionth of one."""
    return "0" if number == 0.0 else f"{number:+.2g}"


def _losses(study: Study) -> Table:
    head = ("what is swapped", "loss with the first", "with the other", "the seeds' standard deviation")
    means = [(*(sum(losses) / len(losses) for losses in (one.base, one.swapped)), one.loss.deviation) for one in study.found]
    names = (one.swap.name for one in study.found)
    return Table(head, [(name, *(f"{value:.4f}" for value in row)) for name, row in zip(names, means, strict=True)])
