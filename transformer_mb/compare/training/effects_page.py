"""docs/EFFECTS.md: what bites comes first, from the JSON of a run."""

from __future__ import annotations

from ...reports.table import Row, Table
from .arms import BATCH, SHOWN, WARMUP
from .effects import Found, Study
from .swaps import CONTROL

HEAD = """# What a framework's other default does to a small model

Measured by `transformer-mb compare effects`. Each line swaps one default for another framework's, with all else equal, and
trains D2L's model (two layers of width 32) on the built-in corpus: {steps} steps of {batch} pairs, Adam at 0.005 with all
gradients clipped together to a norm of 1, {warmup} steps of warm-up and then linearly to zero; {seeds} seeds, each of initial
weights, order and dropout at once. Backend {backend} {version}, float32. Where it is SGD's default, SGD trains: momentum 0.9 at
0.2, or plain at the rates that are swapped and unclipped; lines on GELU, RMS norms and weight decay have these on both sides.

**Loss moved** is the held-out loss ({shown} unseen pairs, nats per token) with the swapped default less the loss with the
other one, paired by seed, in units of the seeds' standard deviation (that of the first one's losses): 1 is as much as another
seed does. Beside it Student's 95 % interval of the mean; it takes the deviation as known, and each line stands alone:
of twenty swaps without any effect, about one has an interval that leaves zero out. **Logits moved** is what the swap does to
the logits of the trained weights, as a share of their root mean square, in float64: what comes of moving a trained model to a
framework with the other default.

The line *{control}* begins with every weight one float32 higher. What moves the loss no more than that cannot be
told from rounding; bold is what does, its interval lying beside the control's.

A loss that sinks says nothing for a default: what helps this model in its first {steps} steps may harm another one later.

This page is apart from [BEHAVIOURS.md](BEHAVIOURS.md), which says who has which default: that one is measured on the
frameworks, this one on one model of ours, and holds for models like it. The names in the last column are its sections.

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
