"""Where every group went: produced = trained + stale + filtered + failed + waiting, at every step of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from trainer.groups import Filled


@dataclass(slots=True, kw_only=True)
class Counts:
    """Groups since the start of the run.

    produced: drawn, or taken from stored samples.  trained: an update was made on them.  stale: dropped for their age.
    filtered: nothing to learn from.  failed: not one sample decided.  The others wait: they are surplus.
    """

    produced: int = 0
    trained: int = 0
    stale: int = 0
    filtered: int = 0
    failed: int = 0

    def add(self, filled: Filled, *, trained: bool) -> None:
        """A step's groups. trained: whether there was an update on the batch; it may vary and still teach nothing."""
        batch = len(filled.kept) - filled.copies
        self.produced += len(filled.drawn)
        self.trained += batch if trained else 0
        self.filtered += filled.filtered + (0 if trained else batch)
        self.failed += sum(not group.scores for group in filled.drawn)
        self.stale += filled.stale

    def report(self) -> dict[str, int]:
        return {f"groups/{name}_total": value for name, value in asdict(self).items()}
