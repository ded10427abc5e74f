"""``dynamo-regime spike``: 32, 128 and 32 clients."""

from dynamo_regime.cli.simulation_options import cluster_of
from dynamo_regime.cli.study_options import (
    AsJson,
    ClusterOption,
    EngineArgs,
    Jobs,
    Output,
    Policies,
    Seeds,
    one_sentence,
    policies_of,
    run_and_show,
)


def spike(
    cluster: ClusterOption = "70B-1P2D",
    engine_args: EngineArgs = None,
    policy: Policies = None,
    seeds: Seeds = 3,
    output: Output = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Step from 32 to 128 clients and back, as arXiv 2606.17081.

    Compares static, the paper's controller and the preset `measured`, and what --policy adds.
    """
    with one_sentence():
        from dynamo_regime.study.case import phase_segments
        from dynamo_regime.study.side_by_side import side_by_side
        from dynamo_regime.study.spike import LOOP, spike_policies

        added = policies_of(policy) if policy else []
        study = side_by_side(
            "spike",
            cluster_of(cluster, engine_args),
            LOOP,
            [*spike_policies(cluster), *added],
            segments=phase_segments(LOOP),
            settings={"cluster": cluster, "workload": "32/128/32 clients"},
            seeds=seeds,
        )
        run_and_show(study, output, jobs, as_json)
