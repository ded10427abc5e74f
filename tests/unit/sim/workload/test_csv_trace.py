"""Azure's and BurstGPT's traces."""

import gzip
from pathlib import Path

import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.sim import Cluster, RouterSettings, Simulation, simulate
from dynamo_regime.sim.workload.files import read_trace

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,374,44
2023-11-16 18:17:04.0319600,1396,109
2023-11-16 18:17:03.9899600,879,55
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01.509930+00:00,2399,6
"""
BURST_GPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,Conversation log
118,GPT-4,417,0,417,Conversation log
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text)
    return path


def test_azures_rows_are_requests_from_the_first_arrival_on(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, AZURE))
    assert trace.arrival_seconds.tolist() == pytest.approx([0.0, 0.052, 0.01], abs=1e-6)
    assert trace.input_tokens.tolist() == [374, 1396, 879]
    assert trace.output_tokens.tolist() == [44, 109, 55]
    assert trace.bad_lines == ()


def test_azures_times_may_have_a_time_zone(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, AZURE_2024))
    assert trace.arrival_seconds.tolist() == pytest.approx([0.0, 1.5], abs=1e-6)


def test_a_failure_of_burst_gpt_is_left_out_and_reported(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, BURST_GPT))
    assert trace.arrival_seconds.tolist() == [0.0, 40.0]
    assert trace.input_tokens.tolist() == [472, 1087]
    [bad] = trace.bad_lines
    assert (bad.number, bad.reason) == (4, "Response tokens is 0: it must be at least 1 token")


def test_no_two_prompts_share_a_block(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, AZURE))
    assert trace.block_offsets.tolist() == [0, 1, 4, 6]
    assert len(set(trace.blocks.tolist())) == trace.blocks.size


def test_a_compressed_file_is_read_and_can_be_simulated(tmp_path: Path) -> None:
    path = tmp_path / "azure.csv.gz"
    path.write_bytes(gzip.compress(AZURE.encode("utf-8-sig")))
    outcome = simulate(Simulation(Cluster.parse("2"), RouterSettings(), read_trace(path)))
    assert outcome.summary.completed == 3
    assert outcome.summary.cached_fraction == 0.0


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("2023-11-16 18:17:05", "has 1 of 3 columns"),
        ("yesterday,1,1", "TIMESTAMP is 'yesterday': it must be a time"),
        ("2023-11-16 18:17:05,many,1", "ContextTokens is 'many': it must be a number of tokens"),
        ("2023-11-16 18:17:05,-1,1", "ContextTokens is -1: it must be at least 1 token"),
        ("2023-11-16 18:17:05,1,", "GeneratedTokens is ''"),
    ],
)
def test_a_bad_row_is_left_out_and_reported(tmp_path: Path, row: str, reason: str) -> None:
    trace = read_trace(written(tmp_path, AZURE + row + "\n"))
    assert len(trace) == 3
    [bad] = trace.bad_lines
    assert bad.number == 5
    assert reason in bad.reason


def test_a_time_that_is_no_number_is_a_bad_row(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, BURST_GPT + "nan,GPT-4,1,1,2,API log\n"))
    assert trace.bad_lines[-1].reason == "Timestamp is 'nan': it must be a time"


def test_a_file_without_a_request_is_refused(tmp_path: Path) -> None:
    header = AZURE.splitlines()[0]
    with pytest.raises(InputError, match=r"no request of Azure LLM inference$"):
        read_trace(written(tmp_path, header))
    with pytest.raises(
        InputError, match="no request of Azure LLM inference; line 2: TIMESTAMP is '7'"
    ):
        read_trace(written(tmp_path, header + "\n7\n"))
