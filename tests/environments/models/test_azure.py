"""Deployment paths of Azure under another provider: one line says which provider asks them."""

import pytest

from environments.models.faults import from_status
from environments.models.registry import require_model
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec

MODEL = ModelSpec.parse("compatible/gpt-5")
BODY = {"error": {"code": "404", "message": "Resource not found"}}


@pytest.mark.parametrize(
    "url",
    [
        "https://name.openai.azure.com/openai/deployments/gpt-5",
        "https://gateway.example/openai/deployments/gpt-5?api-version=2024-10-21",
        "https://name.openai.azure.com/openai/deployments/",
    ],
)
def test_a_classic_deployment_path_is_refused_before_anything_runs(url):
    with pytest.raises(Misuse, match=r"models of the provider azure: azure/DEPLOYMENT") as refused:
        require_model(MODEL, url)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["https://name.openai.azure.com/openai/v1", "https://gateway.example/openai/v1"]
)
def test_other_addresses_are_asked(url):
    require_model(MODEL, url)


def test_a_404_of_azure_says_which_address_works():
    fault = from_status("compatible/gpt-5 at name.openai.azure.com", 404, {}, BODY, "key")
    assert "Resource not found: deployments of Azure are models of the provider azure" in str(fault)
    assert "\n" not in str(fault)


@pytest.mark.parametrize(
    ("where", "status"),
    [
        ("compatible/m at azure.com.example", 404),
        ("compatible/m at name.openai.azure.com", 400),
        ("azure/m at name.openai.azure.com", 404),
    ],
)
def test_other_faults_say_nothing_of_azure(where, status):
    assert "provider azure" not in str(from_status(where, status, {}, BODY, "key"))
