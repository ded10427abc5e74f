"""What a frontend's own page says of the workers' KV cache."""

import pytest

from dynamo_regime.control.signals.served_model import KvCache, ServedModel
from tests.unit.control.signals.loopback_server import LoopbackServer

SIZE = "dynamo_frontend_model_kv_cache_block_size"
BLOCKS = "dynamo_frontend_model_total_kv_blocks"
UNKNOWN = KvCache(None, None)


@pytest.mark.parametrize(
    ("page", "known"),
    [
        (f'{SIZE}{{model="a"}} 64\n{BLOCKS}{{model="a"}} 2048\n', KvCache(64, 2048.0)),
        (f'{SIZE}{{model="a"}} 64\n{SIZE}{{model="b"}} 64\n', KvCache(64, None)),
        (f'{SIZE}{{model="a"}} 64\n{SIZE}{{model="b"}} 16\n', UNKNOWN),
        (f'{SIZE}{{model="a"}} 0\n', UNKNOWN),
        ("# no worker yet\n", UNKNOWN),
        ("<html>", UNKNOWN),
    ],
)
def test_it_is_known_where_all_models_agree(page: str, known: KvCache) -> None:
    with LoopbackServer(lambda path, _: (200, page) if path == "/metrics" else (404, "")) as server:
        assert ServedModel(server.url).kv_cache() == known


def test_metrics_can_be_renamed() -> None:
    with LoopbackServer(lambda *_: (200, "mine_model_kv_cache_block_size 32\n")) as server:
        assert ServedModel(server.url, "mine").kv_cache() == KvCache(32, None)


def test_a_frontend_that_does_not_answer_so_says_nothing() -> None:
    with LoopbackServer(lambda *_: (500, "")) as server:
        model = ServedModel(server.url)
        assert model.kv_cache() == UNKNOWN
    assert model.kv_cache() == UNKNOWN
