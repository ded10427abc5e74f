"""What the admin API answers, and that a refused request changes nothing."""

import json
import math
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.admin.two_pools import START, TwoPools

JSON = {"Content-Type": "application/json"}
# The fixtures may be shared by the examples: each puts the policies back itself, or checks them.
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def put(http: httpx.Client, body: bytes) -> httpx.Response:
    return http.put("/v1/policy", content=body, headers=JSON)


def error(response: httpx.Response) -> str:
    """The one sentence of a refusal, after a look at its form."""
    answer = response.json()
    assert list(answer) == ["error"]
    assert isinstance(answer["error"], str)
    assert "\n" not in answer["error"]
    assert answer["error"]
    return str(answer["error"])


def test_every_pool_is_shown_with_its_policy_and_version(http: httpx.Client) -> None:
    response = http.get("/v1/policy")
    assert response.status_code == 200
    assert response.json() == {
        "policies": [
            {
                "pool": "prefill",
                "instance": "cold",
                "temperature": 0.0,
                "prefill_weight": 1.0,
                "version": 1,
            },
            {
                "pool": "decode",
                "instance": "wärm",
                "temperature": 0.5,
                "prefill_weight": 0.25,
                "version": 1,
            },
        ]
    }


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ({"temperature": 0.7}, ["prefill", "decode"]),
        ({"temperature": 0.7, "prefill_weight": 2}, ["prefill", "decode"]),
        ({"prefill_weight": 0, "pool": "decode"}, ["decode"]),
        ({"temperature": 1e-3, "instance": "wärm"}, ["decode"]),
        ({"temperature": 3.5, "prefill_weight": None, "pool": None}, ["prefill", "decode"]),
    ],
)
def test_a_swap_changes_what_it_names_and_answers_with_the_new_version(
    http: httpx.Client, pools: TwoPools, change: dict[str, Any], changed: list[str]
) -> None:
    response = http.put("/v1/policy", json=change)
    assert response.status_code == 200
    answered = response.json()["policies"]
    assert [policy["pool"] for policy in answered] == changed
    for old, new in zip(START, pools.policies(), strict=True):
        if old.pool not in changed:
            assert new == old
            continue
        assert new.version == 2
        assert new.temperature == change.get("temperature", old.temperature)
        expected_weight = change.get("prefill_weight")
        assert new.prefill_weight == (
            old.prefill_weight if expected_weight is None else expected_weight
        )
        assert {
            "pool": new.pool,
            "instance": new.instance,
            "temperature": new.temperature,
            "prefill_weight": new.prefill_weight,
            "version": new.version,
        } in answered


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ('{"temperature": -1}', 422, "temperature must be a finite number and not negative"),
        ('{"temperature": NaN}', 422, "but is NaN"),
        ('{"temperature": Infinity}', 422, "but is Infinity"),
        ('{"prefill_weight": -Infinity}', 422, "prefill_weight must be a finite number"),
        ('{"prefill_weight": 1e999}', 422, "but is Infinity"),
        ('{"temperature": 1' + "0" * 400 + "}", 422, "temperature must be a finite number"),
        ('{"temperature": true}', 422, "but is true"),
        ('{"temperature": "0.5"}', 422, 'but is "0.5"'),
        ('{"temperature": [1]}', 422, "but is [1]"),
        ('{"temperature": 0.5, "prefill_weight": -2}', 422, "prefill_weight must be"),
        ('{"temprature": 0.5}', 422, 'there is no key "temprature", only temperature,'),
        ('{"temperature": 0.5, "version": 9}', 422, 'there is no key "version"'),
        ('{"temperature": 0.5, "pool": 3}', 422, "pool must be the name of a pool, but is 3"),
        ('{"temperature": 0.5, "pool": "\\ud800"}', 422, "pool must be the name of a pool"),
        ('{"temperature": 0.5, "pool": "decod"}', 404, "there is no pool 'decod'; the pools are"),
        ("{}", 422, "a swap needs a temperature, a prefill_weight or both"),
        ('{"pool": "decode"}', 422, "a swap needs a temperature, a prefill_weight or both"),
        ('{"temperature": null}', 422, "a swap needs a temperature, a prefill_weight or both"),
        ("[]", 422, "the body must be a JSON object such as"),
        ("0.5", 422, "the body must be a JSON object such as"),
        ("null", 422, "the body must be a JSON object such as"),
        ("", 422, "the body must be a JSON object such as"),
        ('{"temperature": 0.5', 400, "the body is not valid JSON"),
        ('{"temperature": 1' + "0" * 5000 + "}", 400, "the body is not valid JSON"),
        ("[" * 16_000, 400, "the body is not valid JSON"),
    ],
)
def test_a_wrong_body_gets_one_sentence_and_the_old_policies_stay(
    http: httpx.Client, pools: TwoPools, body: str, status: int, sentence: str
) -> None:
    response = put(http, body.encode())
    assert response.status_code == status
    assert sentence in error(response)
    assert pools.policies() == START


def test_all_wrong_values_are_told_at_once(http: httpx.Client) -> None:
    sentence = error(put(http, b'{"temperature": -1, "prefill_weight": true, "speed": 3}'))
    assert all(name in sentence for name in ("temperature", "prefill_weight", "speed"))


def test_a_long_wrong_value_is_cut_in_the_answer(http: httpx.Client) -> None:
    assert len(error(put(http, b'{"temperature": "' + b"x" * 10_000 + b'"}'))) < 200


NUMBERS = st.floats() | st.integers() | st.integers(min_value=2**1000, max_value=2**1100)
VALUES: st.SearchStrategy[object] = (
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just([1.0]) | st.just({})
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "temperature": VALUES,
        "prefill_weight": VALUES,
        "pool": st.sampled_from(["prefill", "decode", "encode", None, 1]),
        "instance": st.sampled_from(["cold", "wärm", "", None, False]),
        "Temperature": VALUES,
    },
)


def is_policy_value(value: object) -> bool:
    """An independent reading of the rule, as the oracle of the property below."""
    if type(value) is int:
        return 0 <= value < 2**1024 - 2**970
    return type(value) is float and value >= 0 and value != math.inf


def is_valid(body: dict[str, object]) -> bool:
    given_values = [
        body[name] for name in ("temperature", "prefill_weight") if body.get(name) is not None
    ]
    return (
        bool(given_values)
        and all(map(is_policy_value, given_values))
        and "Temperature" not in body
        and all(type(body.get(name)) in (str, type(None)) for name in ("pool", "instance"))
    )


@SHARED
@given(body=BODIES)
@example(body={"temperature": -0.0})
@example(body={"temperature": 5e-324, "prefill_weight": 1.7976931348623157e308})
@example(body={"temperature": 1.0, "pool": "decode", "instance": "cold"})
def test_a_body_is_accepted_whole_if_it_is_valid_and_else_changes_nothing(
    http: httpx.Client, pools: TwoPools, body: dict[str, object]
) -> None:
    pools.reset()
    response = put(http, json.dumps(body).encode())
    chosen = [
        policy.pool
        for policy in START
        if body.get("pool") in (None, policy.pool)
        and body.get("instance") in (None, policy.instance)
    ]
    if is_valid(body) and chosen:
        assert response.status_code == 200
        assert [policy["pool"] for policy in response.json()["policies"]] == chosen
        for policy in pools.policies():
            assert policy.version == (2 if policy.pool in chosen else 1)
    else:
        assert response.status_code == (404 if is_valid(body) else 422)
        assert error(response)
        assert pools.policies() == START


@SHARED
@given(body=st.binary(max_size=200))
@example(body=b"\xff\xfe")
@example(body=b'{"temperature": 1}\x00')
def test_bytes_that_are_no_json_object_are_refused_and_change_nothing(
    http: httpx.Client, pools: TwoPools, body: bytes
) -> None:
    response = put(http, body)
    assert response.status_code in (400, 422)
    assert error(response)
    assert pools.policies() == START


def test_decisions_are_rows_with_null_for_what_is_not_known(http: httpx.Client) -> None:
    answer = http.get("/v1/decisions", params={"limit": 2}).json()
    assert answer["dropped"] == 7
    first, second = answer["decisions"]
    assert (first["version"], second["version"]) == (1, 2)
    assert first["time_ns"] == 2**64 - 1
    assert first["worker_id"] == 2**63 + 1
    assert first["cost"] == 0.1
    assert first["overlap_blocks"] is None
    assert first["pool"] == "prefill"


def test_as_many_decisions_are_asked_for_as_the_limit_says_or_a_hundred(
    http: httpx.Client, pools: TwoPools, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []
    answer = pools.recent_decisions

    def recent_decisions(limit: int) -> Any:
        limits.append(limit)
        return answer(limit)

    monkeypatch.setattr(pools, "recent_decisions", recent_decisions)
    for query in ("", "?limit=1", "?limit=10000"):
        assert http.get(f"/v1/decisions{query}").status_code == 200
    assert limits == [100, 1, 10_000]


@pytest.mark.parametrize("limit", ["0", "-1", "10001", "x", "", "1.5", "NaN"])
def test_a_limit_out_of_range_is_refused(http: httpx.Client, limit: str) -> None:
    response = http.get(f"/v1/decisions?limit={limit}")
    assert response.status_code == 422
    assert error(response) == f'limit must be a whole number from 1 to 10000, but is "{limit}"'


def test_an_unknown_query_parameter_is_refused_by_name(http: httpx.Client) -> None:
    response = http.get("/v1/decisions?limt=5")
    assert response.status_code == 422
    assert error(response) == 'there is no parameter "limt", only limit'


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/policies", 404),
        ("PUT", "/v1/policy/", 404),
        ("GET", "/docs", 404),
        ("POST", "/v1/policy", 405),
        ("DELETE", "/v1/policy", 405),
        ("PUT", "/v1/decisions", 405),
    ],
)
def test_what_is_not_served_is_refused_as_json(
    http: httpx.Client, method: str, path: str, status: int
) -> None:
    response = http.request(method, path, content=b'{"temperature": 1}', headers=JSON)
    assert response.status_code == status
    assert error(response)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/v1/policy", "GET, PUT"), ("/v1/decisions", "GET"), ("/openapi.json", "GET")],
)
def test_a_method_that_a_path_does_not_take_is_answered_with_those_it_takes(
    http: httpx.Client, path: str, allowed: str
) -> None:
    response = http.delete(path)
    assert response.status_code == 405
    assert response.headers["Allow"] == allowed
    assert error(response) == f"this path does not take DELETE, only {allowed}"


def test_the_openapi_document_tells_every_refusal_and_its_form(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    documented = {
        (method, path): set(operation["responses"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert documented == {
        ("get", "/v1/policy"): {"200", "403", "413", "500"},
        ("put", "/v1/policy"): {"200", "400", "403", "404", "413", "415", "422", "500"},
        ("get", "/v1/decisions"): {"200", "403", "413", "422", "500"},
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                schema = answer["content"]["application/json"]["schema"]
                assert (schema == {"$ref": "#/components/schemas/Refusal"}) == (status != "200")
    update = document["components"]["schemas"]["PolicyUpdate"]
    assert update["additionalProperties"] is False
    assert [choice["required"] for choice in update["anyOf"]] == [
        ["temperature"],
        ["prefill_weight"],
    ]
