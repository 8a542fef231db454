"""How to get a client of a model that makes pictures or clips."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from environments.models.registry import model_endpoint, require_model
from environments.ports import ImageModel, VideoModel
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec

if TYPE_CHECKING:
    from environments.models.limits.protocols import Limiter

GENERATORS: Mapping[str, tuple[str, ...]] = {
    "pictures": ("openai", "compatible"),
    "clips": ("compatible",),
}
"""What models can make, and the providers whose models make it."""


def require_generator(spec: ModelSpec, base_url: str | None, makes: str) -> None:
    """Check that a client for a model that makes `pictures` or `clips` can be made; no call.

    Raises:
        Misuse: As `require_model`, or the provider makes none.
    """
    if spec.provider not in GENERATORS[makes]:
        ways = " or ".join(f"{name}/..." for name in GENERATORS[makes])
        raise Misuse(f"model {spec}: its provider makes no {makes}; use {ways}")
    require_model(spec, base_url)


def image_model(
    spec: ModelSpec, base_url: str | None, limiter: "Limiter | None" = None
) -> ImageModel:
    """Return a new client of a model that draws; it belongs to one event loop.

    `limiter` shares the provider's limits; None: the one of this process.

    Raises:
        Misuse: As `require_generator`.
    """
    from environments.models.limits.limiter import process_limiter
    from environments.models.openai.generation import OpenAIImages

    require_generator(spec, base_url, "pictures")
    endpoint = model_endpoint(spec, base_url)
    return OpenAIImages(endpoint, limiter=limiter or process_limiter())


def video_model(
    spec: ModelSpec, base_url: str | None, limiter: "Limiter | None" = None
) -> VideoModel:
    """Return a new client of a model that films; it belongs to one event loop.

    `limiter` shares the provider's limits; None: the one of this process.

    Raises:
        Misuse: As `require_generator`.
    """
    from environments.models.limits.limiter import process_limiter
    from environments.models.openai.generation import OpenAIVideos

    require_generator(spec, base_url, "clips")
    endpoint = model_endpoint(spec, base_url)
    return OpenAIVideos(endpoint, limiter=limiter or process_limiter())
