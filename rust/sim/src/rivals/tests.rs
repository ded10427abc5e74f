use super::*;

fn request(now_ms: f64) -> Request {
    Request {
        now_ms,
        prompt_blocks: 10.0,
    }
}

fn worker(requests: usize, new_tokens: usize, cached_blocks: f64) -> Worker {
    Worker {
        requests,
        queued_tokens: 0,
        new_tokens,
        cached_blocks,
    }
}

/// How often each row is chosen in so many requests.
fn counts(rival: Rival, workers: &[Worker], requests: usize) -> Vec<usize> {
    let (mut rule, mut rng) = (rival.rule(), Rng::with_seed(7));
    let mut counts = vec![0; workers.len()];
    for number in 0..requests {
        counts[rule.choose(&request(number as f64), workers, &mut rng)] += 1;
    }
    counts
}

#[test]
fn round_robin_takes_the_workers_in_turn() {
    assert_eq!(
        counts(Rival::RoundRobin, &[worker(9, 0, 0.0); 3], 7),
        [3, 2, 2]
    );
}

#[test]
fn the_least_loaded_worker_is_taken_and_equal_ones_alike() {
    let workers = [worker(2, 0, 0.0), worker(1, 0, 9.0), worker(1, 0, 0.0)];
    let counts = counts(Rival::LeastLoaded, &workers, 2_000);
    assert_eq!(counts[0], 0);
    // Three standard deviations of a fair coin.
    assert!(counts[1].abs_diff(1_000) < 68, "{counts:?}");
}

#[test]
fn power_of_two_never_takes_the_fullest_and_takes_the_emptiest_of_three_two_thirds_of_the_time() {
    let workers = [worker(3, 0, 0.0), worker(2, 0, 0.0), worker(1, 0, 0.0)];
    let counts = counts(Rival::PowerOfTwo, &workers, 3_000);
    assert_eq!(counts[0], 0);
    assert!(counts[2].abs_diff(2_000) < 78, "{counts:?}");
}

#[test]
fn lmetric_takes_the_least_product_and_among_idle_workers_the_fewest_tokens() {
    // 400 · 2 against 100 · 9 against 300 · 3.
    let busy = [
        worker(2, 400, 0.0),
        worker(9, 100, 0.0),
        worker(3, 300, 0.0),
    ];
    assert_eq!(counts(Rival::Lmetric, &busy, 1), [1, 0, 0]);
    let idle = [worker(0, 400, 0.0), worker(0, 100, 0.0)];
    assert_eq!(counts(Rival::Lmetric, &idle, 5), [0, 5]);
    let decode = [worker(4, 0, 0.0), worker(3, 0, 0.0)];
    assert_eq!(counts(Rival::Lmetric, &decode, 5), [0, 5]);
}

#[test]
fn lmetric_counts_the_queue_where_it_is_told_to() {
    let mut workers = [worker(2, 100, 0.0), worker(3, 100, 0.0)];
    workers[0].queued_tokens = 1_000;
    assert_eq!(counts(Rival::Lmetric, &workers, 5), [5, 0]);
    assert_eq!(counts(Rival::LmetricQueued, &workers, 5), [0, 5]);
}

#[test]
fn the_sigmoid_prefers_the_cache_in_balance_and_the_idle_worker_out_of_balance() {
    let even = [worker(4, 0, 8.0), worker(3, 0, 0.0), worker(4, 0, 0.0)];
    assert_eq!(counts(Rival::AdaptiveSigmoid, &even, 1), [1, 0, 0]);
    let odd = [worker(20, 0, 8.0), worker(0, 0, 0.0), worker(0, 0, 0.0)];
    assert_eq!(counts(Rival::AdaptiveSigmoid, &odd, 1)[0], 0);
}

#[test]
fn aimd_needs_time_to_give_the_cache_up_and_no_more_updates_than_one_in_100_ms() {
    let odd = [worker(20, 0, 10.0), worker(0, 0, 0.0), worker(0, 0, 0.0)];
    let (mut rule, mut rng) = (Rival::AdaptiveAimd.rule(), Rng::with_seed(7));
    // In balance the weight falls to its least.
    for number in 0..50 {
        rule.choose(
            &request(100.0 * f64::from(number)),
            &[worker(1, 0, 0.0); 3],
            &mut rng,
        );
    }
    let at = |now_ms: f64, rule: &mut Box<dyn Rule>, rng: &mut Rng| {
        rule.choose(&request(now_ms), &odd, rng) == 0
    };
    assert!(at(5_000.0, &mut rule, &mut rng), "affinity at first");
    assert!((0..90).all(|ms| at(5_001.0 + f64::from(ms), &mut rule, &mut rng)));
    assert!((1..60).any(|step| !at(5_000.0 + 100.0 * f64::from(step), &mut rule, &mut rng)));
}

mod beside_dynamos_crate {
    //! Dynamo's own two-tier policy against ours, through Dynamo's selector.

    use std::collections::HashMap;
    use std::io::Write;

    use dynamo_kv_router::protocols::{RoutingConstraints, WorkerConfigLike, WorkerWithDpRank};
    use dynamo_kv_router::scheduling::{OverlapSignals, ScheduleMode};
    use dynamo_kv_router::{
        RoutingPartitionRef, SchedulingRequest, WorkerLoadProjection, WorkerSelectionInput,
        WorkerSelector,
    };

    use super::*;

    struct Shape;

    impl WorkerConfigLike for Shape {
        fn data_parallel_start_rank(&self) -> u32 {
            0
        }

        fn data_parallel_size(&self) -> u32 {
            1
        }

        fn max_num_batched_tokens(&self) -> Option<u64> {
            None
        }

        fn total_kv_blocks(&self) -> Option<u64> {
            None
        }
    }

    fn dynamos() -> WorkerSelectionPolicy {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(
            b"worker_selection:
  aggregated: two
  instances:
    - {name: two, type: dynamo-two-tier-cost-fn}
",
        )
        .unwrap();
        let config = KvRouterConfig {
            router_policy_config: Some(file.path().display().to_string()),
            ..KvRouterConfig::default()
        };
        let mut registry = dynamo_custom_policy_builtin::default_registry();
        dynamo_custom_policy_builtin::register(&mut registry).unwrap();
        let factory = registry.resolve(&config).unwrap().unwrap();
        let partition = RoutingPartitionRef::new("model", "default");
        factory(&config, WorkerType::Aggregated, partition)
    }

    fn selected(policy: &WorkerSelectionPolicy, workers: &[(usize, usize)]) -> u64 {
        let shapes: HashMap<u64, Shape> = (0..workers.len() as u64).map(|id| (id, Shape)).collect();
        let mut overlap = OverlapSignals::default();
        let mut worker_loads = rustc_hash::FxHashMap::default();
        for (id, (requests, blocks)) in workers.iter().enumerate() {
            let worker = WorkerWithDpRank::from_worker_id(id as u64);
            worker_loads.insert(
                worker,
                WorkerLoadProjection {
                    active_prefill_tokens: 0,
                    active_decode_blocks: 0,
                    active_requests: *requests,
                    additional_active_blocks: 0,
                },
            );
            overlap.tier_overlap_blocks.device.insert(worker, *blocks);
        }
        let request = SchedulingRequest {
            mode: ScheduleMode::QueryOnly { request_id: None },
            token_seq: None,
            isl_tokens: 160,
            lora_name: None,
            expected_output_tokens: None,
            affinity_target: None,
            pinned_worker: None,
            allowed_worker_ids: None,
            routing_constraints: RoutingConstraints::default(),
            router_config_override: None,
            track_prefill_tokens: true,
            priority_jump: 0.0,
            strict_priority: 0,
            policy_class: None,
            session_context: None,
            overlap,
            kv_transfer_candidates: None,
            retain_kv_transfer_chain: false,
            shared_cache_hits: None,
            worker_loads,
            resp_tx: None,
        };
        let input = WorkerSelectionInput::configured(&shapes, &request, request.eligibility(), 16);
        policy.select_worker(input).unwrap().worker.worker_id
    }

    #[test]
    fn two_tier_chooses_as_dynamos_own_wherever_the_choice_is_not_a_tie() {
        let dynamos = dynamos();
        let ours = Rival::TwoTier.policy(
            &KvRouterConfig::default(),
            WorkerType::Aggregated,
            VirtualClock::default(),
        );
        let mut rng = Rng::with_seed(3);
        for _ in 0..2_000 {
            let spread = if rng.bool() { 6 } else { 90 };
            // Counts that differ, so that there are no ties.
            let mut requests: Vec<usize> =
                (0..5).map(|row| 5 * rng.usize(0..spread) + row).collect();
            rng.shuffle(&mut requests);
            let workers: Vec<(usize, usize)> = requests
                .into_iter()
                .map(|requests| (requests, rng.usize(0..=10)))
                .collect();
            assert_eq!(
                selected(&ours, &workers),
                selected(&dynamos, &workers),
                "{workers:?}"
            );
        }
    }
}
