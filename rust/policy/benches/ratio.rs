//! The gate: how long a selection by the plug-in takes, as a ratio to Dynamo's default policy.
//!
//! Both are timed in many short rounds that take turns, and the median of the rounds' ratios counts:
//! what disturbs the machine disturbs both, or falls out of the median. Where code and data happen
//! to lie in memory makes a tenth of a difference for either; so that is done in several processes,
//! and the median of these counts. Prints JSON.
//!
//! `cargo bench --bench ratio -- --max-ratio 1.05` ends with status 1 when a ratio is higher.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on should stop"
)]

mod fixture;

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use dynamo_kv_router::plugins::worker_selection::WorkerSelectionPolicy;
use dynamo_kv_router::{KvRouterConfig, SchedulingRequest, WorkerType};
use serde_json::{Value, json};

use fixture::{BLOCK_SIZE, Workers, both, pool, select};

const TEMPERATURES: [f64; 2] = [0.0, 0.7];
const WORKERS: [u64; 3] = [8, 64, 1024];
const PROCESSES: usize = 9;
const ROUNDS: usize = 101;
const ROUND: Duration = Duration::from_micros(500);

/// Tells a process that it is one of the several.
const ONE_OF_SEVERAL: &str = "--one-of-several";

enum Task {
    /// Run the processes, report and judge.
    Judge { max_ratio: Option<f64> },
    /// Measure in this process.
    Measure,
}

fn main() -> ExitCode {
    match task(std::env::args().skip(1)) {
        Ok(Task::Judge { max_ratio }) => judge(max_ratio),
        Ok(Task::Measure) => {
            println!("{}", Value::Array(settings().map(measure).collect()));
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}

/// What the command line asks for. `cargo bench` adds `--bench` to it.
fn task(mut arguments: impl Iterator<Item = String>) -> Result<Task, String> {
    let mut max_ratio = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            ONE_OF_SEVERAL => return Ok(Task::Measure),
            "--max-ratio" => {
                let value = arguments.next().unwrap_or_default();
                let parsed = value.parse().ok().filter(|ratio: &f64| *ratio > 0.0);
                max_ratio = Some(parsed.ok_or_else(|| {
                    format!("--max-ratio takes a positive number, not {value:?}.")
                })?);
            }
            other => {
                return Err(format!(
                    "Unknown argument {other:?}; there is --max-ratio RATIO."
                ));
            }
        }
    }
    Ok(Task::Judge { max_ratio })
}

fn settings() -> impl Iterator<Item = (f64, u64)> {
    TEMPERATURES
        .into_iter()
        .flat_map(|temperature| WORKERS.map(|workers| (temperature, workers)))
}

fn judge(max_ratio: Option<f64>) -> ExitCode {
    let measured: Vec<Vec<Value>> = (0..PROCESSES).map(|_| in_a_process()).collect();
    let results: Vec<Value> = settings()
        .enumerate()
        .map(|(row, (temperature, workers))| {
            let over_processes = |key: &str| {
                median(
                    measured
                        .iter()
                        .map(|rows| rows[row][key].as_f64().unwrap())
                        .collect(),
                )
            };
            json!({
                "workers": workers,
                "temperature": temperature,
                "ratio": over_processes("ratio"),
                "regime_ns": over_processes("regime_ns"),
                "dynamo_ns": over_processes("dynamo_ns"),
            })
        })
        .collect();
    let worst_ratio = results
        .iter()
        .filter_map(|result| result["ratio"].as_f64())
        .fold(0.0, f64::max);
    let passed = max_ratio.is_none_or(|limit| worst_ratio <= limit);
    let report = json!({
        "benchmark": "one worker selection, regime / Dynamo's default",
        "processes": PROCESSES,
        "rounds_per_process": ROUNDS,
        "results": results,
        "worst_ratio": worst_ratio,
        "max_ratio": max_ratio,
        "passed": passed,
    });
    println!("{}", serde_json::to_string_pretty(&report).unwrap());
    ExitCode::from(u8::from(!passed))
}

fn in_a_process() -> Vec<Value> {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg(ONE_OF_SEVERAL)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn measure((router_temperature, count): (f64, u64)) -> Value {
    let (workers, request) = pool(count);
    let config = KvRouterConfig {
        router_temperature,
        ..KvRouterConfig::default()
    };
    let (_pools, regime, dynamo) = both(&config, WorkerType::Aggregated);
    let repeats = repeats(&dynamo, &workers, &request);
    let time = |policy| nanoseconds(policy, &workers, &request, repeats);
    let (mut ratios, mut regime_ns, mut dynamo_ns) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Whoever goes second finds the caches warm: take turns at that as well.
        let (ours, dynamos) = if round % 2 == 0 {
            let ours = time(&regime);
            (ours, time(&dynamo))
        } else {
            let dynamos = time(&dynamo);
            (time(&regime), dynamos)
        };
        ratios.push(ours / dynamos);
        regime_ns.push(ours);
        dynamo_ns.push(dynamos);
    }
    json!({
        "ratio": median(ratios),
        "regime_ns": median(regime_ns),
        "dynamo_ns": median(dynamo_ns),
    })
}

/// How many selections fill a round.
fn repeats(policy: &WorkerSelectionPolicy, workers: &Workers, request: &SchedulingRequest) -> u32 {
    let mut repeats = 1;
    while nanoseconds(policy, workers, request, repeats) * f64::from(repeats)
        < ROUND.as_nanos() as f64
    {
        repeats *= 2;
    }
    repeats
}

/// Mean duration of one selection.
fn nanoseconds(
    policy: &WorkerSelectionPolicy,
    workers: &Workers,
    request: &SchedulingRequest,
    repeats: u32,
) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        black_box(select(policy, workers, request, BLOCK_SIZE).unwrap());
    }
    start.elapsed().as_nanos() as f64 / f64::from(repeats)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
