"""Start the scripted model: `python -m examples.scripted_model --port 8765`."""

import argparse
import logging

from aiohttp import web

from examples.scripted_model.script import scripts
from examples.scripted_model.server import ScriptedModel


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="examples.scripted_model", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument("--port", type=int, default=8765, help="default: %(default)s")
    parser.add_argument(
        "--fail-every", type=int, default=0, metavar="N", help="answer every N-th call with 503"
    )
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    model = ScriptedModel(scripts(), options.fail_every)
    web.run_app(model.app(), host=options.host, port=options.port)


if __name__ == "__main__":
    main()
