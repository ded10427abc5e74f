"""What is written into the bucket can be read again, and what else is in it is refused."""

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dynamo_regime.control.fleet.records import (
    SCHEMA,
    FleetDecision,
    FleetError,
    FleetPolicy,
    Lease,
    LeaseState,
    PoolSetting,
    Report,
    decode,
    encode,
)
from dynamo_regime.control.reading import Latency, Quantile, Reading, WorkerLoad

PLACE = "key policy of the NATS bucket b"
FINITE = st.floats(0, allow_nan=False, allow_infinity=False)
ABSENT_OR = st.none() | FINITE
QUANTILES = st.none() | st.builds(Quantile, FINITE, st.booleans())
LATENCIES = st.none() | st.builds(Latency, st.integers(0), QUANTILES, QUANTILES)
WORKERS = st.builds(
    WorkerLoad, st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), ABSENT_OR, ABSENT_OR
)
READINGS = st.builds(
    Reading,
    time=st.floats(allow_nan=False, allow_infinity=False),
    window=FINITE,
    ttft=LATENCIES,
    itl=LATENCIES,
    workers=st.none() | st.lists(WORKERS, max_size=4).map(tuple),
    queue_length=ABSENT_OR,
    decision_rate=ABSENT_OR,
    dropped=st.integers(0),
)
DECISIONS = st.builds(
    FleetDecision,
    pools=st.lists(
        st.builds(PoolSetting, pool=st.text(), temperature=FINITE, prefill_weight=FINITE),
        max_size=4,
    ).map(tuple),
    regime=st.none() | st.text(max_size=20),
    reason=st.text(),
)
POLICIES = st.builds(
    FleetPolicy,
    version=st.integers(0),
    fence=st.integers(0),
    decider=st.text(),
    decision=DECISIONS,
)
REPORTS = st.builds(
    Report, member=st.text(), policy=st.none() | POLICIES, reading=st.none() | READINGS
)
LEASES = st.builds(
    Lease, writer=st.text(), state=st.sampled_from(LeaseState), number=st.integers(0)
)


@given(POLICIES | REPORTS | LEASES)
def test_what_is_written_is_read_again(record: FleetPolicy | Report | Lease) -> None:
    assert decode(type(record), encode(record), PLACE) == record


def test_fields_of_later_versions_with_the_same_schema_are_ignored() -> None:
    lease = Lease(writer="a", state=LeaseState.HELD, number=1)
    content = {**json.loads(encode(lease)), "mood": "good"}
    assert decode(Lease, json.dumps(content).encode(), PLACE) == lease


def test_a_newer_schema_is_refused_in_one_sentence_that_says_what_to_do() -> None:
    with pytest.raises(FleetError) as refused:
        decode(FleetPolicy, json.dumps({"schema": SCHEMA + 1}).encode(), PLACE)
    assert str(refused.value) == (
        f"{PLACE} has schema {SCHEMA + 1} and this dynamo-regime reads up to {SCHEMA}:"
        " upgrade this frontend, or name another bucket"
    )


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-0.1", '"x"'])
@pytest.mark.parametrize("field", ["temperature", "prefill_weight"])
def test_a_policy_that_no_router_can_have_is_refused(value: str, field: str) -> None:
    setting = {"pool": "prefill", "temperature": 0.5, "prefill_weight": 1.0}
    text = encode(
        FleetPolicy(
            version=1,
            fence=1,
            decider="a",
            decision=FleetDecision(
                pools=(PoolSetting.model_validate(setting),), regime=None, reason=""
            ),
        )
    ).decode()
    before = f'"{field}":{setting[field]}'
    assert before in text
    with pytest.raises(FleetError, match=field):
        decode(FleetPolicy, text.replace(before, f'"{field}":{value}').encode(), PLACE)


@given(st.binary() | st.sampled_from([b"null", b"[]", b"{}", b'{"schema":"x"}', b'{"schema":1}']))
def test_whatever_else_is_there_is_refused_in_one_sentence(text: bytes) -> None:
    for kind in (Lease, FleetPolicy, Report):
        with pytest.raises(FleetError, match="NATS bucket b") as refused:
            decode(kind, text, PLACE)
        assert "\n" not in str(refused.value)


def test_a_record_of_another_kind_is_refused() -> None:
    lease = encode(Lease(writer="a", state=LeaseState.HELD, number=1))
    with pytest.raises(FleetError):
        decode(FleetPolicy, lease, PLACE)


def test_a_reason_is_cut_to_a_bound() -> None:
    assert len(FleetDecision(pools=(), regime=None, reason="x" * 10_000).reason) == 500
