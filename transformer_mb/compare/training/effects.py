"""Swaps one default at a time and trains every pair of arms, seed by seed; and the file of what was measured."""

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
from ..scipy_stats import stats
from .arms import STEPS, Trained, moved_logits, trained
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
    """All that were measured, the largest effect first, and on what."""

    found: tuple[Found, ...]
    seeds: tuple[int, ...]
    steps: int
    backend: str
    version: str

    def bites(self, one: Found) -> bool:
        """Tell whether its interval lies beside the control's: it moves the loss more than rounding does."""
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
    """Swap one default at a time and train: the same seeds on both sides.

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
    return read_record(path, "effects", _study)


def _study(content: Any) -> Study:
    known = {swap.name: swap for swap in SWAPS}

    def found(one: dict[str, Any]) -> Found:
        base, swapped = tuple(one["base losses"]), tuple(one["swapped losses"])
        return Found(known[one["name"]], base, swapped, Moved(**one["loss moved"]), one["logits moved"])

    return Study(
        tuple(map(found, content["effects"])), tuple(content["seeds"]), content["steps"], content["backend"], content["version"]
    )
