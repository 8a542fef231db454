"""The services behind host tools: which there are, whether one is ready, and how it is opened."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from environments.models.generators import image_model, require_generator, video_model
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.models.registry import ModelClients, require_model
from environments.ports import ImageModel, ModelClient, VideoModel
from environments.search.ports import SearchProvider
from environments.search.providers import open_search, require_search
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.task import Task
from taskdata.schema.tool_backends import ToolBackends

READY = "ready"


class Service(StrEnum):
    """A service that a host tool may need."""

    VISION = "vision"
    IMAGES = "images"
    VIDEOS = "videos"
    SEARCH = "search"


@dataclass(frozen=True)
class ServiceLimits:
    """How often the tools of one trial may use each service; retries do not count."""

    vision: int = 100
    images: int = 20
    videos: int = 4
    search: int = 100

    def of(self, service: Service) -> int:
        """Return the most calls of a service in one trial."""
        limit: int = getattr(self, service.value)
        return limit


@dataclass(frozen=True)
class ToolServices:
    """The services of one event loop; None: not configured."""

    vision: ModelClient | None = None
    images: ImageModel | None = None
    videos: VideoModel | None = None
    search: SearchProvider | None = None
    limits: ServiceLimits = ServiceLimits()

    def owned_by(self, payer: Payer) -> "ToolServices":
        """Return the same services for one trial, whose tool calls are paid for by `payer`."""
        if not isinstance(self.vision, RecordedClient):
            return self
        payer = replace(payer, purpose=CallPurpose.TOOL)
        return replace(self, vision=self.vision.owned_by(payer))


@asynccontextmanager
async def open_services(
    backends: ToolBackends, clients: ModelClients, calls: CallRecorder
) -> AsyncIterator[ToolServices]:
    """Yield the configured services that are ready, closed after the block.

    Args:
        backends: The configuration.
        clients: Model clients of this event loop; they hold connections and rate limits.
        calls: Records the calls of the multimodal model, so that an equal question is asked once.
    """
    async with AsyncExitStack() as stack:
        services = ToolServices()
        if _is_ready(Service.VISION, backends) and backends.tool_model is not None:
            spec, url = backends.tool_model, backends.tool_model_base_url
            behind = None if backends.plays_back else clients.get(spec, url)
            nobody = CallLog(calls, Payer(CallPurpose.TOOL, owner=""))
            vision = RecordedClient(behind, spec, url, nobody, shares=True)
            services = replace(services, vision=vision)
        if _is_ready(Service.IMAGES, backends) and backends.image_model is not None:
            url = backends.image_model_base_url
            images = image_model(backends.image_model, url, clients.limiter)
            stack.push_async_callback(images.close)
            services = replace(services, images=images)
        if _is_ready(Service.VIDEOS, backends) and backends.video_model is not None:
            url = backends.video_model_base_url
            videos = video_model(backends.video_model, url, clients.limiter)
            stack.push_async_callback(videos.close)
            services = replace(services, videos=videos)
        if _is_ready(Service.SEARCH, backends):
            search = open_search(backends)
            stack.push_async_callback(search.close)
            services = replace(services, search=search)
        yield services


def services_of(task: Task) -> frozenset[Service]:
    """Return the services that a task brings for its own trials, whatever is configured."""
    has_search = task.environment is not None and task.environment.search
    return frozenset({Service.SEARCH}) if has_search else frozenset()


def service_state(
    service: Service, backends: ToolBackends, brought: Collection[Service] = ()
) -> str:
    """Return `ready`, or on one line what the service lacks and how to get it.

    Args:
        service: The service.
        backends: The configuration.
        brought: Services that the task brings itself; these are ready.
    """
    if service in brought:
        return READY
    try:
        _REQUIRE[service](backends)
    except Misuse as exc:
        return str(exc)
    return READY


def _is_ready(service: Service, backends: ToolBackends) -> bool:
    return service_state(service, backends) == READY


def _require_vision(backends: ToolBackends) -> None:
    spec = _configured(
        backends.tool_model, "a multimodal model: set tool_model, such as openai/gpt-5.2"
    )
    if spec.provider == "local":
        raise Misuse(f"model {spec}: cannot see; set tool_model to a multimodal model")
    require_model(spec, backends.tool_model_base_url, is_asked=not backends.plays_back)


def _require_images(backends: ToolBackends) -> None:
    _require_asking(backends, "pictures are")
    spec = _configured(
        backends.image_model, "a model that draws: set image_model, such as openai/gpt-image-1"
    )
    require_generator(spec, backends.image_model_base_url, "pictures")


def _require_videos(backends: ToolBackends) -> None:
    _require_asking(backends, "clips are")
    spec = _configured(
        backends.video_model,
        "a model that films: set video_model, such as compatible/wan2.2, and video_model_base_url",
    )
    require_generator(spec, backends.video_model_base_url, "clips")


def _require_asking(backends: ToolBackends, not_kept: str) -> None:
    if backends.plays_back:
        raise Misuse(
            f"{not_kept} not kept, and replies = replay asks nobody; use replies = keep for tasks "
            "that need this tool"
        )


def _configured(spec: ModelSpec | None, wanted: str) -> ModelSpec:
    if spec is None:
        raise Misuse(f"needs {wanted}")
    return spec


_REQUIRE: Mapping[Service, Callable[[ToolBackends], None]] = {
    Service.VISION: _require_vision,
    Service.IMAGES: _require_images,
    Service.VIDEOS: _require_videos,
    Service.SEARCH: require_search,
}
