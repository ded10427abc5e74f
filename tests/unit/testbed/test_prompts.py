from collections import Counter
from itertools import pairwise

from testbed.model import VOCABULARY_SIZE
from testbed.prompts import Phase, PromptMix, requests

PHASES = (Phase("calm", 2, 30), Phase("peak", 8, 400), Phase("calm again", 2, 30))
MIX = PromptMix(templates=4, zipf_exponent=1.0, prefix_tokens=32, tail_tokens=8, answer_tokens=5)


def test_the_seed_fixes_every_prompt_and_their_order() -> None:
    assert list(requests(PHASES, MIX, 7)) == list(requests(PHASES, MIX, 7))
    assert list(requests(PHASES, MIX, 7)) != list(requests(PHASES, MIX, 8))


def test_phases_follow_one_another_with_as_many_requests_as_they_say() -> None:
    load = list(requests(PHASES, MIX, 7))
    assert [request.index for request in load] == list(range(460))
    assert [request.phase.name for request in load] == ["calm"] * 30 + ["peak"] * 400 + [
        "calm again"
    ] * 30


def test_prompts_share_the_prefix_of_their_template_and_nothing_else() -> None:
    load = list(requests(PHASES, MIX, 7))
    prefixes = {request.template: request.token_ids[:32] for request in load}
    assert len(set(prefixes.values())) == 4
    assert all(request.token_ids[:32] == prefixes[request.template] for request in load)
    assert len({request.token_ids[32:] for request in load}) == len(load)
    assert {len(request.token_ids) for request in load} == {40}


def test_popularity_falls_with_rank() -> None:
    asked = Counter(request.template for request in requests([Phase("calm", 1, 4000)], MIX, 7))
    assert all(asked[rank] > asked[rank + 1] for rank in range(3))
    # Expected: 1, 1/2, 1/3, 1/4 of the most popular one.
    assert 3.2 < asked[0] / asked[3] < 4.8


def test_prompts_hold_words_of_the_model_only() -> None:
    for request in requests(PHASES, MIX, 7):
        assert all(2 <= token_id < VOCABULARY_SIZE for token_id in request.token_ids)


def test_a_zipf_exponent_of_zero_makes_all_prefixes_equally_popular() -> None:
    even = PromptMix(templates=4, zipf_exponent=0.0, prefix_tokens=4, tail_tokens=4)
    asked = Counter(request.template for request in requests([Phase("calm", 1, 4000)], even, 7))
    assert all(abs(one - another) < 150 for one, another in pairwise(asked.values()))
