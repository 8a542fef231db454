"""HtmlFileGenerator: a complete page around the HTML that the agent gives."""

import re
from html import escape
from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import Arguments, OutputPath, ToolDefinition
from environments.tools.workspace.paths import output_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_WHOLE_PAGE = re.compile(r"<!doctype|<html[\s>]|<body[\s>]", re.IGNORECASE)
_DEFAULT_CSS = """\
body { font-family: system-ui, sans-serif; line-height: 1.5; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; }
table { border-collapse: collapse; }
th, td { border: 1px solid #bbb; padding: 0.3rem 0.6rem; text-align: left; }
img { max-width: 100%; }"""


class HtmlFileGeneratorArguments(Arguments):
    """Arguments of HtmlFileGenerator."""

    path: OutputPath
    title: str = Field(min_length=1)
    body: str = Field(description="HTML that goes between <body> and </body>, kept as it is.")
    css: str | None = Field(default=None, description="Style rules; a plain style by default.")
    lang: str = Field(default="en", pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")


def write_html(args: HtmlFileGeneratorArguments, workspace: Path) -> ToolResult:
    """Write a page with doctype, language, character set, title and style."""
    target = output_file(workspace, args.path, (".html", ".htm"))
    if _WHOLE_PAGE.search(args.body):
        raise ToolRefused(
            "body must hold only what goes between <body> and </body>: the page around it is "
            "written for you."
        )
    css = _DEFAULT_CSS if args.css is None else args.css
    if "</style" in css.lower():
        raise ToolRefused("css must hold style rules only, without <style> tags.")
    page = (
        f'<!DOCTYPE html>\n<html lang="{args.lang}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(args.title, quote=False)}</title>\n<style>\n{css}\n</style>\n</head>\n"
        f"<body>\n{args.body}\n</body>\n</html>\n"
    )
    data = page.encode("utf-8", "replace")
    target.write_bytes(data)
    return ToolResult(text=f"Wrote {args.path}: an HTML page of {len(data)} bytes.")


TOOLS = (
    ToolDefinition(
        name="HtmlFileGenerator",
        description="Write a complete HTML page around the given body, with title and style.",
        category=Capability.OPERATION,
        arguments=HtmlFileGeneratorArguments,
        run=write_html,
        backend="Python's html",
        paging="Write less at once.",
    ),
)
