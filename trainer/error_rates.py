"""How often the verifiers of a run are wrong, for its model card: the rates that `verigold audit` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.config import RecipeError

Share = Annotated[float, Field(ge=0, le=1)]


class _Rate(BaseModel):
    model_config = ConfigDict(frozen=True)
    estimate: Share
    low: Share
    high: Share
    n: int


class ErrorRates(BaseModel):
    """fnr: right answers not accepted.  fpr: wrong ones accepted.  With 95 % intervals."""

    model_config = ConfigDict(frozen=True)
    fnr: _Rate
    fpr: _Rate

    def __str__(self) -> str:
        return f"right answers refused {_percent(self.fnr)}, wrong ones accepted {_percent(self.fpr)}"


def read_error_rates(path: Path, *, judged: bool) -> ErrorRates:
    """judged: those of the rules with a judge behind them. Raises RecipeError when the file does not hold them."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return ErrorRates.model_validate(found["judge"]["hybrid"] if judged else found)
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"reward.audit: {path}: cannot be read ({error}); give an audit.json") from None
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{error.error_count()} missing or wrong fields" if isinstance(error, ValidationError) else str(error)
        wanted = "audit.json with labelled rows, written with --verifier hybrid" if judged else "audit.json with labels"
        raise RecipeError(f"reward.audit: {path}: holds no error rates ({reason}); give an {wanted}") from None


def _percent(rate: _Rate) -> str:
    return f"{rate.estimate:.1%} ({rate.low:.1%} to {rate.high:.1%}, {rate.n:,} rows)"
