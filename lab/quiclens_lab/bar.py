"""A bar: a figure and the bound that it must keep."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise. A figure that is missing does not keep it."""

    says: str
    figure: float | None
    bound: float
    is_at_least: bool

    @property
    def is_kept(self) -> bool:
        if self.figure is None:
            return False
        return self.figure >= self.bound if self.is_at_least else self.figure <= self.bound

    def as_json(self) -> dict[str, Any]:
        sign = ">=" if self.is_at_least else "<="
        return {"says": self.says, "figure": self.figure, "bound": f"{sign} {self.bound:g}", "kept": self.is_kept}
