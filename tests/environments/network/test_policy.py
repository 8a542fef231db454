"""Which hosts a list allows, and which addresses they may lead to."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from environments.network.policy import HostResolver, Policy, Refused
from taskdata.schema.network import split_pattern
from taskdata.schema.task import Resources

PUBLIC = "93.184.215.14"


def reached(policy: Policy, host: str, port: int = 443) -> tuple[str, ...]:
    return asyncio.run(policy.addresses(host, port))


@pytest.mark.parametrize(
    ("pattern", "host", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "EXAMPLE.org.", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "example.org.evil.net", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("*.example.org", ".example.org", 443, False),
        (PUBLIC, PUBLIC, 443, True),
        ("93.184.215.15", PUBLIC, 443, False),
    ],
)
def test_a_pattern_means_what_it_says(names, pattern, host, port, allowed):
    table = {host.lower().removesuffix("."): [PUBLIC]}
    policy = Policy([pattern], names(table))

    if allowed:
        assert reached(policy, host, port) == (PUBLIC,)
    else:
        with pytest.raises(Refused, match="not in the task's list"):
            reached(policy, host, port)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.7",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "168.63.129.16",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::169.254.169.254",
        "2002:7f00:1::",
    ],
)
def test_a_name_that_leads_to_an_address_that_is_not_public_is_refused(names, address):
    policy = Policy(["trusted.org"], names({"trusted.org": [address]}))

    with pytest.raises(Refused, match="not public"):
        reached(policy, "trusted.org")


def test_an_address_that_is_listed_itself_is_allowed_and_so_are_names_for_it(names):
    table = {"intranet.example": ["10.0.0.7"], "ip6": ["fd00::7"]}
    policy = Policy(["intranet.example", "10.0.0.7", "ip6", "[FD00:0::7]"], names(table))

    assert reached(policy, "10.0.0.7") == ("10.0.0.7",)
    assert reached(policy, "intranet.example") == ("10.0.0.7",)
    assert reached(policy, "ip6") == ("fd00::7",)
    with pytest.raises(Refused):
        reached(policy, "10.0.0.7", 5432)


def test_of_many_addresses_only_the_public_ones_are_used(names):
    policy = Policy(["mixed.org"], names({"mixed.org": [f"127.0.0.1 {PUBLIC} 10.0.0.1"]}))

    assert reached(policy, "mixed.org") == (PUBLIC,)


def test_the_hosts_own_resolver_finds_the_hosts_own_names():
    resolver = HostResolver()

    assert reached(Policy(["localhost", "127.0.0.1", "[::1]"], resolver), "localhost")
    resolver.close()


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "*",
        "*.*.org",
        "a.*.org",
        "https://example.org",
        "example.org/path",
        "user@example.org",
        "example.org:",
        "example.org:0",
        "example.org:70000",
        "example.org:https",
        "exam ple.org",
        "example..org",
        "ex\nample.org",
        "bücher.example",
        "[::1",
        "[zz::1]",
        "::1",
        "a" * 64 + ".org",
    ],
)
def test_what_is_no_pattern_is_no_resource(pattern):
    with pytest.raises(ValidationError):
        Resources(network=(pattern,))


@given(st.text(max_size=300))
def test_any_text_is_a_pattern_or_is_not(text):
    try:
        host, port = split_pattern(text)
    except ValueError:
        return
    assert host == host.lower()
    assert port is None or 1 <= port <= 65535


def test_a_task_without_a_network_is_written_as_before():
    assert "network" not in Resources().model_dump()
    asked = Resources(network=("Example.org:443",))
    assert asked.network == ("example.org:443",)
    assert Resources.model_validate_json(asked.model_dump_json()) == asked
