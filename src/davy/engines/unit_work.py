"""Work that is cut into units: who does it, and how an engine runs it.

A worker is named as "module:Class", so that another machine can make it. It gets
keyword arguments once and then one unit after the other; units and results are
plain JSON values. A unit may be done twice (a machine died before it could say
that it was done), so doing it again must write the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, Protocol

from davy.core.errors import UserError
from davy.version import __version__

ENGINES = ("local", "ray")

Unit = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkerClass:
    """What does the work: the class's "module:Class" and what it is made with."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Runs units. Results come in any order, each with its unit's place in the list."""

    def run(self, worker: WorkerClass, units: Sequence[Unit]) -> Iterator[tuple[int, Any]]: ...


class UnitRunner:
    """One worker and the units that it is given; the worker is made with the first unit.

    What the user can mend comes back as a value: an error that crosses machines loses its class.
    """

    def __init__(self, worker: WorkerClass) -> None:
        self._worker = worker
        self._made: Any = None

    def run(self, unit: Unit) -> dict[str, Any]:
        """Return `{"result": …}`, or `{"error": …}` where the user can do something about it."""
        try:
            if self._made is None:
                self._made = resolve_name(self._worker.name)(**self._worker.arguments)
            return {"result": self._made(unit), "version": __version__}
        except UserError as error:
            return {"error": str(error), "version": __version__}


def result_of(answer: Mapping[str, Any], where: str = "a worker") -> Any:
    """Return a unit's result, or raise what its worker could not do."""
    if answer["version"] != __version__:
        raise UserError(
            f"{where} runs Davy {answer['version']}, here is {__version__}. Install the same version on every node."
        )
    if "error" in answer:
        raise UserError(str(answer["error"]))
    return answer["result"]


class LocalEngine:
    """Does one unit after the other in this process."""

    def run(self, worker: WorkerClass, units: Sequence[Unit]) -> Iterator[tuple[int, Any]]:
        """Yield each unit's result, in order."""
        runner = UnitRunner(worker)
        for place, unit in enumerate(units):
            yield place, result_of(runner.run(unit))
