"""Any valid profile survives its file, and any text makes a profile or one sentence."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.control import ConfigurationError, Profile, Regime, load_profile, save_profile
from dynamo_regime.control.profile import POOLS, Knot, PoolProfile, Regimes, Setting

finite = st.floats(0, allow_infinity=False, allow_nan=False)
settings = st.builds(Setting, temperature=finite, prefill_weight=finite)
by_regime = st.builds(Regimes, normal=settings, transition=settings, saturated=settings).map(
    lambda regimes: PoolProfile(regimes=regimes)
)
knots = st.lists(
    st.tuples(st.integers(0, 10_000), finite, finite),
    min_size=2,
    max_size=8,
    unique_by=lambda knot: knot[0],
).map(
    lambda drawn: tuple(
        Knot(load=load / 100, temperature=temperature, prefill_weight=weight)
        for load, temperature, weight in sorted(drawn)
    )
)
by_load = knots.map(lambda drawn: PoolProfile(load_index=drawn))
pools = st.dictionaries(
    st.sampled_from(["default", *POOLS]), st.one_of(by_regime, by_load), min_size=1
)
profiles = st.builds(Profile, name=st.text(), description=st.text(), safe=settings, pools=pools)


@given(profiles)
def test_a_profile_that_is_saved_is_read_back_as_it_was(profile: Profile) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "profile.yaml"
        save_profile(profile, path)
        assert load_profile(path) == profile


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_file_is_a_profile_or_one_sentence(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "profile.yaml"
        path.write_bytes(content)
        message = ""
        try:
            load_profile(path)
        except ConfigurationError as error:
            message = str(error)
        assert message == "" or str(path) in message
        assert "\n" not in message


@given(knots, st.floats(0, 100))
def test_an_interpolated_setting_lies_between_the_knots_around_it(
    drawn: tuple[Knot, ...], load: float
) -> None:
    setting = PoolProfile(load_index=drawn).at(Regime.NORMAL, load)
    below = [knot for knot in drawn if knot.load <= load] or [drawn[0]]
    above = [knot for knot in drawn if knot.load >= load] or [drawn[-1]]
    around = (below[-1], above[0])
    slack = 1e-9 * max(knot.prefill_weight for knot in drawn)
    low = min(knot.prefill_weight for knot in around)
    high = max(knot.prefill_weight for knot in around)
    assert low - slack <= setting.prefill_weight
    assert setting.prefill_weight - high <= slack
