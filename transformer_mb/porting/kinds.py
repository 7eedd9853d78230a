"""Rows of the three tables: containers of arrays (``Format``), and namings of the same mathematics in them (``Family``).

Each module of ``formats``, ``families`` and ``exports`` ends in its row, which holds the functions that the module offers: all
of them raise PortError. What depends on a row is an attribute of it: its name is compared with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .model import NativeFile, PortedModel

Settings = Mapping[str, Any]  # what ``--config`` holds


def never(*_: Any) -> Any:
    """Stand for what a kind of family does not do: exports are not read, others not read back."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Loading:
    """The use of a written file, and complete Python that loads it there; the last of ``lines`` has made ``model``.

    Until ``at`` fills it in, ``{path}`` is what was written, ``{config}`` the configuration beside it, ``{companion}`` the
    optimizer's file, and a field of the configuration stands by its name. ``optimizer`` follow where its state is there too.
    """

    into: str
    lines: tuple[str, ...] = ()
    optimizer: tuple[str, ...] = ()

    @classmethod
    def of(cls, into: str, lines: str, optimizer: str = "") -> Loading:
        return cls(into=into, lines=tuple(lines.strip().splitlines()), optimizer=tuple(optimizer.strip().splitlines()))

    def at(self, fields: Mapping[str, str], optimizer: bool) -> Loading:
        """Fill ``fields`` into the lines; those of the optimizer's state come along where it is there."""
        lines = (*self.lines, *(self.optimizer if optimizer else ()))
        return Loading(into=self.into, lines=tuple(line.format(**fields) for line in lines))


@dataclass(frozen=True, kw_only=True)
class Format:
    """A container.

    Attributes:
        title: for tables and messages.
        suffix: of the files that users give it; ``needs_suffix``: the framework's loader takes no other. shards: endings by
            which a file that an index lists is one. index_of_layers: such an index lists layers and no tensors.
        recognize, read: of a path; reading executes nothing that a file holds. asked_first: its own mark comes after bytes
            that may look like another's. write: at a path; None: it is only read.
        optimizer: whether Adam's state travels in it. keeps_betas: a training that goes on takes them from the file.
        requires: packages beyond the core that reading or writing it takes.
        backend: whose framework's own file it is; None is NumPy's.
        companion: suffix of the file beside it that holds the optimizer's state.
        records: whether it holds the configuration itself; else that lies beside the file.
        version_setting: what says for which version of the framework it is written.
        into, lines, optimizer_lines: as of ``Loading``; of the model that is written where they depend on it.
        hint: of tensors' names that belong to no family, how a file is saved that can be read, as a sentence; or "".
        numbered: likewise where the names are numbers.
    """

    name: str
    title: str
    suffix: str
    recognize: Callable[[Path], bool]
    read: Callable[[Path], NativeFile]
    write: Callable[[Path, NativeFile], None] | None = None
    into: str = ""
    lines: str | Callable[[PortedModel], str] = ""
    optimizer_lines: str = ""
    optimizer: bool = False
    keeps_betas: bool = False
    requires: tuple[str, ...] = ()
    backend: str | None = None
    companion: str | None = None
    records: bool = False
    needs_suffix: bool = False
    asked_first: bool = False
    shards: tuple[str, ...] = ()
    index_of_layers: bool = False
    version_setting: str = ""
    hint: Callable[[list[str]], str] = lambda names: ""
    numbered: str = "save the state_dict of a model that has these weights (torch_ema's copy_to() puts them into one)"

    def loading_of(self, model: PortedModel) -> Loading:
        """Return the lines, as templates, that load it into our own model."""
        lines = self.lines if isinstance(self.lines, str) else self.lines(model)
        return Loading.of(self.into, lines, self.optimizer_lines)


@dataclass(frozen=True, kw_only=True)
class OwnClasses:
    """The classes that a family's files come from, where a package has them.

    Attributes:
        runs: as of a family. fixed: fields that the classes have without any settings.
        why_not: why they do not run these tensors; "" when they do, None where there are none for such a container.
    """

    runs: str
    fixed: tuple[str, ...]
    why_not: Callable[[PortedModel, NativeFile, Settings], str | None]


@dataclass(frozen=True, kw_only=True)
class Family:
    """A naming of the same mathematics.

    Attributes:
        kind: ``tensors`` live in a container, a ``folder`` has files of its own, an ``export`` is one that is never read.
        recognize: a NativeFile, or a folder. read: the same, with the settings.
        write: of tensors the NativeFile of a model, a format's name and the settings; else a model into an empty folder, which
            the caller puts in place. read_back: of a model and its export, the stored weights by canonical name, and the names
            of what cannot be explained.
        format: the container that ``--to NAME`` writes, for kind ``tensors``; None: any of them, each by its own name.
        runs: ``module:function`` in ``transformer_mb.porting`` that runs the foreign model itself for the proof (see
            ``worker.call``). requires: the packages that it takes; None: those of the framework whose container it is.
        own: classes that come before ``runs``.
        files: the names of all that such a folder can hold: its reader takes what it finds under these for the
            model's own, so that none of an old model may stay. hides: outputs that an engine computes and need not show.
        optimizer, records: as of a container. generation: whether settings of decoding travel in it.
        into, lines: as of ``Loading``, and what a table says. loading: of a model, its container and the settings instead.
        check_names: refuses settings about names; None: the names are fixed.
        note: what a written folder lacks of a model, as a sentence; or "".
        holds_heads: whether a model's parts for tasks come along.
        ends_sources: whether an engine itself ends each source of a model.
        described: what a table calls it other than ``title``.
        seems: how a folder that is not recognized may be one all the same, as the end of a sentence; or "".
    """

    name: str
    title: str
    kind: str
    recognize: Callable[..., bool]
    write: Callable[..., Any]
    read: Callable[..., PortedModel] = never
    read_back: Callable[..., tuple[dict[str, Any], list[str]]] = never
    format: str | None = None
    runs: str | None = None
    requires: tuple[str, ...] | None = ()
    own: OwnClasses | None = None
    files: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    optimizer: bool = False
    records: bool = False
    generation: bool = False
    into: str = ""
    lines: str = ""
    loading: Callable[[PortedModel, Format | None, Settings], Loading] | None = None
    check_names: Callable[[Format, Settings], None] | None = None
    note: Callable[[PortedModel], str] = lambda model: ""
    holds_heads: Callable[[PortedModel], bool] = lambda model: False
    ends_sources: Callable[[PortedModel], bool] = lambda model: False
    described: str = ""
    seems: Callable[[Path], str] = lambda folder: ""

    @property
    def in_any_container(self) -> bool:
        return self.kind == "tensors" and self.format is None

    def loading_of(self, model: PortedModel, container: Format | None, settings: Settings) -> Loading:
        """Return the lines that load a model, as templates."""
        return self.loading(model, container, settings) if self.loading else Loading.of(self.into, self.lines)
