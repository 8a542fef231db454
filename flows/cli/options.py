"""Options that commands share, and options that one value holds together."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Command = TypeVar("Command", bound=Callable[..., None])


def takes(options: type) -> Callable[[Command], Callable[..., None]]:
    """Return a decorator for a command whose first parameter is an `options`.

    Typer then sees one option per field of that dataclass, before the command's own; a field is
    declared as a parameter would be, with `Annotated` and a default.
    """
    hints = get_type_hints(options, include_extras=True)
    spread = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(options)
    ]

    def adopt(command: Command) -> Callable[..., None]:
        @functools.wraps(command)
        def gathered(**given: Any) -> None:
            command(options(**{one.name: given.pop(one.name) for one in spread}), **given)

        _, *own = inspect.signature(command).parameters.values()
        own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        # Typer reads a command's options from these two.
        gathered.__signature__ = inspect.Signature([*spread, *own])  # type: ignore[attr-defined]
        gathered.__annotations__ = {one.name: one.annotation for one in (*spread, *own)}
        return gathered

    return adopt


def given(options: Any) -> dict[str, Any]:
    """Return the fields of such an `options` that the command line named."""
    found = {field.name: getattr(options, field.name) for field in fields(options)}
    # Zero is a value; no list option, and no flag, is not.
    return {n: v for n, v in found.items() if v is not None and v is not False and v != []}
