"""Whose request it is."""

import base64
from pathlib import Path

import pytest

from brim.errors import BadSetting
from brim.gateway.proxy.faults import Refused
from brim.gateway.server.options import Options, options_of
from brim.gateway.server.tenant import JOINED, KEY, Tenants
from brim.settings import load
from brim.stores.inmemory import InMemoryStore
from brim.stores.resilient import open_store

TOKEN = "a-token-of-the-gateway"


def options(**gateway) -> Options:
    return options_of(load(Path("/"), {"HOME": "/nowhere", "GATE_TOKEN": TOKEN}, gateway=gateway))


def scope(*headers: tuple[bytes, bytes], query: bytes = b"", peer: str = "127.0.0.1") -> dict:
    return {"headers": list(headers), "query_string": query, "client": (peer, 5000)}


def bearer(key: bytes) -> tuple[bytes, bytes]:
    return b"authorization", b"Bearer " + key


PLAIN = options()
GUARDED = options(access_token_env="GATE_TOKEN")


def test_a_key_is_the_same_tenant_wherever_it_is_sent():
    tenants = Tenants(None)
    ways = [
        scope(bearer(b"sk-1")),
        scope((b"authorization", b"bearer  sk-1 ")),
        scope((b"x-api-key", b"sk-1")),
        scope((b"x-goog-api-key", b"sk-1")),
        scope((b"api-key", b"sk-1")),
        scope((b"x-brim-token", b"sk-1")),
        scope(query=b"alt=sse&key=sk-1"),
        scope(query=b"access_token=sk%2d1"),
        scope(bearer(b"sk-1"), (b"x-api-key", b"sk-1")),
    ]
    assert len({tenants.of(way, PLAIN) for way in ways}) == 1


def test_different_credentials_are_different_tenants():
    tenants = Tenants(None)
    ways = [
        scope(),
        scope(bearer(b"sk-1")),
        scope(bearer(b"sk-2")),
        scope(bearer(b"sk-1"), (b"x-api-key", b"sk-2")),
        scope(bearer(b"sk-1sk-2")),
        scope((b"authorization", b"Basic " + base64.b64encode(b"ann:same"))),
        scope((b"authorization", b"Basic " + base64.b64encode(b"bob:same"))),
        scope((b"authorization", b"Basic !!!")),
        scope((b"authorization", b"Basic ???")),
    ]
    assert len({tenants.of(way, PLAIN) for way in ways}) == len(ways)


def test_the_shared_access_token_tells_nobody_apart():
    tenants = Tenants(None)
    token = TOKEN.encode()
    alone = [
        scope((b"x-brim-token", token)),
        scope(bearer(token)),
        scope((b"authorization", b"Basic " + base64.b64encode(b"me:" + token))),
    ]
    assert len({tenants.of(way, GUARDED) for way in alone}) == 1
    with_key = tenants.of(scope((b"x-brim-token", token), bearer(b"sk-1")), GUARDED)
    assert with_key == tenants.of(scope((b"x-api-key", token), bearer(b"sk-1")), GUARDED)
    assert with_key != tenants.of(alone[0], GUARDED)


def test_restarts_and_gateways_on_one_store_agree(tmp_path):
    request = scope(bearer(b"sk-1"))
    stores = [open_store(tmp_path / "brim.db") for _ in range(2)]
    first, second = (Tenants(store).of(request, PLAIN) for store in stores)
    for store in stores:
        store.close()
    again = Tenants(open_store(tmp_path / "brim.db")).of(request, PLAIN)
    assert first == second == again
    assert Tenants(open_store(tmp_path / "other.db")).of(request, PLAIN) != first


def test_a_claimed_value_stays_for_all_who_claim_it(tmp_path):
    for store in (InMemoryStore(), open_store(tmp_path / "brim.db")):
        assert store.claim_value(KEY, b"first") == b"first"
        assert store.claim_value(KEY, b"second") == b"first"
        assert store.get_value(KEY) == b"first"


def test_a_store_that_cannot_be_written_gives_the_key_that_it_holds(tmp_path):
    path = tmp_path / "brim.db"
    store = open_store(path)
    store.claim_value(KEY, b"first")
    store._fail(OSError("full"))  # as after a failed write: the file is left alone for a while
    assert store.claim_value(KEY, b"second") == b"first"


def test_neither_the_credential_nor_its_plain_hash_stands_in_a_tenant():
    assert Tenants(None).of(scope(bearer(b"sk-1")), PLAIN) != Tenants(None).of(scope(bearer(b"sk-1")), PLAIN)


def test_joined_clients_are_one_tenant():
    joined = options(join_tenants=True)
    assert Tenants(None).of(scope(bearer(b"sk-1")), joined) == Tenants(None).of(scope(), joined) == JOINED


def test_a_header_names_the_tenant_from_a_known_proxy_only():
    tenants = Tenants(None)
    named = options(tenant_header="X-Team", trusted_proxies=["10.1.0.0/16", "::1"])
    key = bearer(b"sk-1")
    ann, bob = (b"x-team", b"ann"), (b"x-team", b"bob")
    inside = tenants.of(scope(key, ann, peer="10.1.2.3"), named)
    assert inside == tenants.of(scope(bearer(b"sk-2"), ann, peer="::ffff:10.1.9.9"), named)
    assert inside != tenants.of(scope(key, bob, peer="10.1.2.3"), named)
    forged = tenants.of(scope(key, ann, peer="10.2.0.1"), named)
    assert forged == tenants.of(scope(key), named) != inside
    assert tenants.of(scope(bearer(b"ann")), named) != inside


def test_a_header_that_is_given_twice_is_refused():
    named = options(tenant_header="x-team", access_token_env="GATE_TOKEN")
    twice = scope((b"x-team", b"ann"), (b"x-team", b"bob"))
    with pytest.raises(Refused, match="more than once"):
        Tenants(None).of(twice, named)


@pytest.mark.parametrize(
    "gateway",
    [
        {"tenant_header": "x-team"},
        {"tenant_header": "x-team", "access_token_env": "GATE_TOKEN", "join_tenants": True},
        {"tenant_header": "x-team", "trusted_proxies": ["the-proxy"]},
        {"tenant_header": "x team"},
    ],
)
def test_settings_by_which_anyone_could_name_a_tenant_are_refused(gateway):
    with pytest.raises(BadSetting):
        options(**gateway)
