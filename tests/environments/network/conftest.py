"""Names that lead where a test says: DNS is the only thing that is not real here."""

import ipaddress
from collections.abc import Callable

import pytest

from environments.network.policy import Address, Resolver


class Names:
    """A resolver with a table; each question takes the next answer, and the last one stays."""

    def __init__(self, table: dict[str, list[str]]) -> None:
        self._table = table

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        answers = self._table.get(host, [host])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return tuple(ipaddress.ip_address(text) for text in answer.split())


@pytest.fixture
def names() -> Callable[..., Resolver]:
    """Make a resolver of `{host: [first answer, ...]}`; an address leads to itself."""
    return lambda table=None: Names(table or {})
