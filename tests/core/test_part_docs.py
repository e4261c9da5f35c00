"""What is said of a part without building it, by hand."""

from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt

from seq2see.core.part_docs import OptionDocs, describe_part
from seq2see.core.part_table import TABLE
from seq2see.core.registry import Part

GIVEN, OWN = "query_size", "key_size"  # sizes of the surroundings; the second has a default here


class Base:
    """A base.

    Args:
        rate: how fast it is.
        form: what the base says of it.
    """


class Whole(Base):
    """Does much
    in one sentence.

    And more in others.

    Args:
        form: how it is written,
            on two lines.
        window: where it looks.

    Raises:
        deep: is no option.
    """

    def __init__(
        self,
        *,
        query_size: int,
        form: Literal["power", "gnmt"],
        rate: Annotated[float, Gt(0), Lt(1)] = 0.5,
        count: Annotated[int, Ge(2), Le(7)] | None = None,
        key_size: int = 6,
        sizes: tuple[int, ...] = (4, 3),
        deep: bool = False,
        window: Part[Any] | None = None,
        score: Part[Any] = Part("score", "dot", {}),  # noqa: B008
        name: str = "plain",
        loose=None,  # type: ignore[no-untyped-def]
        **rest: int,
    ) -> None:
        """Its signature is all that counts."""


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, "score", {**TABLE["score"], "whole": f"{__name__}:Whole"})


def test_a_part_is_described_by_its_docstring_and_its_signature() -> None:
    found = describe_part("score", "whole")
    assert (found.group, found.kind, found.summary) == ("score", "whole", "Does much in one sentence.")
    assert found.options == (
        OptionDocs("form", "power | gnmt", None, "how it is written, on two lines."),
        OptionDocs("rate", "float > 0 < 1", "0.5", "how fast it is."),
        OptionDocs("count", "int >= 2 <= 7", "null", ""),
        OptionDocs("key_size", "int", "6", ""),  # a default of its own makes it an option
        OptionDocs("sizes", "[int, ...]", "[4,3]", ""),
        OptionDocs("deep", "bool", "false", ""),
        OptionDocs("window", "see `seq2see parts window`", "null", "where it looks."),
        OptionDocs("score", "see `seq2see parts score`", "dot", ""),
        OptionDocs("name", "str", "plain", ""),
        OptionDocs("loose", "any", "null", ""),
    )
