import pytest
import yaml

from dynamo_regime.control import ConfigurationError, split_router_policy

DYNAMO = """\
# our router
worker_selection:
  aggregated: R   # the instance below
  instances:
    - name: R
      type: regime
      parameters: {temperature: 0.0}
"""

OURS = """\
regime_controller:
  mode: act
  profile: paper
"""


def split(text: str) -> tuple[str | None, dict[str, object] | None]:
    return split_router_policy(text, "router.yaml")


@pytest.mark.parametrize(
    "text", [DYNAMO + OURS, OURS + DYNAMO, DYNAMO + "\n" + OURS + "\n\n# end\n"]
)
def test_the_section_is_cut_out_and_the_rest_means_the_same(text: str) -> None:
    rest, section = split(text)
    assert section == {"mode": "act", "profile": "paper"}
    assert rest is not None
    assert yaml.safe_load(rest) == yaml.safe_load(DYNAMO)


def test_the_rest_is_handed_on_as_it_stands() -> None:
    # In YAML 1.1, which Python reads, on and 0o17 mean something else than in YAML 1.2.
    more = "request_classifier: {type: on, parameters: {on: 0o17}}  # kept\n"
    dynamo = DYNAMO + more
    rest, _ = split(dynamo + OURS)
    assert rest == dynamo
    between, _ = split(DYNAMO + OURS + more)
    assert between == dynamo


def test_a_file_without_the_section_is_left_as_it_is_even_if_it_is_no_yaml() -> None:
    for text in (DYNAMO, "a: [", "# regime_controller: {}\n" + DYNAMO, ""):
        assert split(text) == (text, None)


def test_a_file_with_nothing_else_leaves_nothing_for_dynamo() -> None:
    assert split("# mine\n" + OURS) == (None, {"mode": "act", "profile": "paper"})


def test_an_anchor_of_the_rest_may_be_used_in_the_section() -> None:
    text = "a: &shared {x: 1}\nregime_controller:\n  b: *shared\n"
    assert split(text) == ("a: &shared {x: 1}\n", {"b": {"x": 1}})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (DYNAMO + "regime_controller: on\n", ["regime_controller", "mapping"]),
        (DYNAMO + "regime_controller:\n", ["regime_controller", "mapping"]),
        (OURS + DYNAMO + OURS, ["'regime_controller' comes twice"]),
        ("{a: 1, regime_controller: {mode: act}}", ["braces"]),
        ("regime_controller: {a: &x 1}\nb: *x\n", ["anchor"]),
        ("regime_controller: [\n", ["not valid YAML", "line"]),
    ],
)
def test_a_section_that_cannot_be_separated_is_refused(text: str, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        split(text)
    message = str(caught.value)
    assert message.startswith("router.yaml")
    for word in words:
        assert word in message
