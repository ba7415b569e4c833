"""Which panels ever worked with agents, across their versions (P-6).

::

    ledger = Ledger()
    ledger = ledger.accept(first_version)     # declares agent
    ledger.refuses(second_version)            # a problem for each way out it declares

One value for both ledgers: the publisher's, which refuses a submission, and the computer's, which
refuses to install, update or reload. Whoever keeps it records what :meth:`Ledger.accept` gives in
the same transaction as the accepted version, before its page runs, and never takes an id out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from deska_sdk.errors import PackageError
from deska_sdk.panels.rules import way_out_sentence
from deska_sdk.problems import Problem

if TYPE_CHECKING:
    from deska_sdk.panels.manifest import Manifest


@frozen
class Ledger:
    """The ids of the panels of which any accepted version declared ``agent``.

    A value: nothing changes it, :meth:`accept` gives the next one.
    """

    panels: frozenset[str] = frozenset()

    def ever(self, panel_id: str) -> bool:
        """Whether any accepted version of this panel declared ``agent``."""
        return panel_id in self.panels

    def mark(self, panel_id: str) -> Ledger:
        """The ledger in which this panel has worked with agents; for what a host reads back."""
        return evolve(self, panels=self.panels | {panel_id})

    def refuses(self, manifest: Manifest) -> tuple[Problem, ...]:
        """A problem for each of the five that this version may not declare any more; else empty.

        The version's number plays no part: what is handled later is later. Another id is free.
        """
        if not self.ever(manifest.id):
            return ()
        return tuple(
            Problem(
                code="ledger_refused",
                where=where,
                sentence=way_out_sentence(name, ever=True),
                quoted=name,
            )
            for name, where in manifest.ways_out()
        )

    def accept(self, manifest: Manifest) -> Ledger:
        """The ledger after this version was installed or submitted.

        :raises PackageError: this ledger refuses the version.
        """
        problems = self.refuses(manifest)
        if problems:
            raise PackageError(problems)
        return self.mark(manifest.id) if manifest.declares_agent else self
