"""Errors that a user can cause. Each message names what was expected and what was got."""

from __future__ import annotations

from collections.abc import Iterable

ITEM = "\n- "


def listed(names: Iterable[str]) -> str:
    """End an error that lists names which hold commas and spaces themselves: each on a line of its own."""
    return "".join(f"{ITEM}{name}" for name in names)


class TransformerMBError(Exception):
    """Base of all errors that the command line prints as one paragraph, without a traceback.

    ``exit_status`` is what a command ends with: 2 where it was called wrongly or got what it cannot take, 1 where
    it did its work and something is wrong. ``line``: the number of the line that is refused, where the lines before it can
    be answered.
    """

    exit_status = 2
    line: int | None = None


class ConfigError(TransformerMBError, ValueError):
    """A configuration that cannot be built."""


class LackingError(ConfigError):
    """A model or a layer with a switch that the backend declares it lacks."""


class ShapeError(TransformerMBError, ValueError):
    """An array whose shape is not the one that a layer or a model takes."""


class DtypeError(TransformerMBError, TypeError):
    """A dtype that a backend does not offer, or that an argument must not have."""


class ArgumentError(TransformerMBError, TypeError):
    """A keyword that a layer does not take."""


class DeviceError(TransformerMBError, ValueError):
    """A device that was asked for and is not there."""


class TokenError(TransformerMBError, ValueError):
    """A token id outside the vocabulary, or a sequence longer than the model's positions."""


class WeightsError(TransformerMBError, ValueError):
    """Missing, unexpected or wrongly shaped tensors; the message names the first of each kind and counts the rest."""


class BackendError(TransformerMBError, LookupError):
    """A backend that is unknown or cannot be used here."""


class CheckpointError(TransformerMBError, OSError):
    """A checkpoint folder that cannot be read or written."""


class DestinationError(TransformerMBError, OSError):
    """A file that is there already, which the user has not said may be replaced."""


class DataError(TransformerMBError, ValueError):
    """A data file that does not hold what was expected."""


class NotFiniteError(TransformerMBError, ArithmeticError):
    """A loss, a weight or a log-probability that is no number."""

    exit_status = 1


class DistributedError(TransformerMBError, RuntimeError):
    """Several processes of one training that cannot find one another, have lost one, or do not hold the same model."""

    exit_status = 1


class PictureError(TransformerMBError, ValueError):
    """A picture that cannot be drawn: an unknown kind of file, or matplotlib is missing."""


class WorkerError(TransformerMBError, RuntimeError):
    """A worker process that could not start, died, hung, or whose backend raised an error."""

    exit_status = 1


class LackingWorkerError(WorkerError):
    """A worker whose backend declares that it lacks what it was asked for."""


class KilledError(WorkerError):
    """A process that something outside it has ended, such as a system without memory, or a node that went away."""


class ParityError(TransformerMBError, ValueError):
    """A parity run that was asked for what does not exist."""


class UnitsError(TransformerMBError, ValueError):
    """Units of work that cannot be planned, placed or collected as they were asked for."""


class PortError(TransformerMBError, ValueError):
    """A file that cannot be ported: not readable, not of a known family, not complete, or not proven."""


class ProofError(PortError):
    """A port whose result is not the same model."""

    exit_status = 1
