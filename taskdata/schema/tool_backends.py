"""What tools use outside the sandbox, as configured: models that see and draw, and a search."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, model_validator

from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value

SearchName = Literal["none", "serper", "tavily", "corpus"]
SearchRecording = Literal["off", "record", "replay"]


def _named(value: Any) -> Any:
    return ModelSpec.parse(value) if isinstance(value, str) else value


NamedModel = Annotated[ModelSpec, BeforeValidator(_named)]
"""A model, also given as `provider/model`."""


class ToolBackends(Value):
    """The services behind the tools that run on the host; without one its tools are not ready."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    tool_model: NamedModel | None = None
    """Multimodal model that describes, counts and locates."""
    tool_model_base_url: str | None = None
    image_model: NamedModel | None = None
    """Model that draws pictures, behind an OpenAI-compatible `images/generations`."""
    image_model_base_url: str | None = None
    video_model: NamedModel | None = None
    """Behind an OpenAI-compatible `videos`."""
    video_model_base_url: str | None = None
    search: SearchName = "none"
    search_corpus: str | None = None
    """Folder of JSONL, markdown and text files that `corpus` searches."""
    search_recording: SearchRecording = "off"
    """`record` keeps every new answer in the cassette, `replay` takes all of them from it."""
    search_cassette: str | None = None
    """JSONL file of recorded searches."""

    @property
    def plays_back(self) -> bool:
        """Whether nobody is asked, and only what is kept is answered."""
        return False

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.search == "corpus" and self.search_corpus is None:
            raise ValueError("search = corpus needs search_corpus, a folder of documents")
        if self.search_recording != "off" and self.search_cassette is None:
            raise ValueError(
                f"search_recording = {self.search_recording} needs search_cassette, a JSONL file"
            )
        return self
