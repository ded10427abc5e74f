"""What a fleet can be configured as."""

from typing import Any

import pytest

from dynamo_regime.control.checked import ConfigurationError, validated
from dynamo_regime.control.fleet.settings import FleetSettings


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"bucket": "a.b"}, "bucket is 'a.b'"),
        ({"bucket": ""}, "bucket is ''"),
        ({"poll_seconds": 0}, "poll_seconds: 0 must be a finite number above 0"),
        ({"poll_seconds": ".nan"}, "poll_seconds: '.nan' must be"),
        ({"lease_seconds": 0.7}, "lease_seconds is 0.7: it must be at least three times"),
        ({"report_seconds": 2, "poll_seconds": 1}, "report_seconds is 2: it must be at least"),
        ({"lease": 3}, "the key lease is unknown"),
    ],
)
def test_a_value_that_no_fleet_can_have_is_refused_in_one_sentence(
    settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        validated(FleetSettings, settings, "policy.yaml: fleet")
    assert told in str(refused.value)
    assert str(refused.value).startswith("policy.yaml: fleet: ")
    assert "\n" not in str(refused.value)


def test_the_defaults_can_be_used() -> None:
    assert validated(FleetSettings, {}, "") == FleetSettings()
