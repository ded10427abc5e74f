//! Traces: requests with arrival times, lengths and prompts given by the hashes of their blocks.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use aisimulate_core::replay::loadgen::{MooncakeRow, Trace as Sessions, WorkloadDriver};

use crate::error::SimulationError;

/// Requests to replay, single ones or sessions of several turns.
#[derive(Clone, Debug)]
pub struct Trace {
    sessions: Sessions,
    /// Whether a turn's prompt is only what it adds to the session so far.
    is_cumulative: bool,
    /// Arrivals come this many times as fast as recorded.
    pub speed: f64,
    /// Requests in flight, in place of the recorded times; `None` keeps the times.
    pub concurrency: Option<usize>,
    /// Lines of the file that could not be read and are left out.
    pub bad_lines: Vec<BadLine>,
}

/// One request, as other sources than files give it.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRequest {
    /// When it arrives, in seconds.
    pub arrival_seconds: f64,
    /// Prompt tokens.
    pub input_tokens: usize,
    /// Tokens to generate.
    pub output_tokens: usize,
    /// Names of the prompt's blocks: equal names are equal tokens.
    pub blocks: Vec<u64>,
}

/// A line that is not a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl Trace {
    pub(crate) fn new(sessions: Sessions, is_cumulative: bool) -> Self {
        Self {
            sessions,
            is_cumulative,
            speed: 1.0,
            concurrency: None,
            bad_lines: Vec::new(),
        }
    }

    /// Read a trace in Mooncake's format: a JSON object a line, with `timestamp` (milliseconds),
    /// `input_length`, `output_length` and `hash_ids` (one per `block_tokens` prompt tokens).
    ///
    /// # Errors
    /// When the file cannot be read or has no request. Lines that are not requests are left out
    /// and reported in `bad_lines`.
    pub fn from_mooncake(path: &Path, block_tokens: usize) -> Result<Self, SimulationError> {
        let unreadable = |error: std::io::Error| {
            SimulationError::Workload(format!("cannot read {}: {error}", path.display()))
        };
        let mut rows = Vec::new();
        let mut bad_lines = Vec::new();
        let lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
        for (line, number) in lines.zip(1..) {
            let line = line.map_err(unreadable)?;
            if line.trim().is_empty() {
                continue;
            }
            match serde_json::from_str(&line) {
                Ok(row) => match checked(row, block_tokens) {
                    Ok(row) => rows.push(row),
                    Err(reason) => bad_lines.push(BadLine { number, reason }),
                },
                Err(error) => bad_lines.push(BadLine {
                    number,
                    reason: format!("is not a request: {error}"),
                }),
            }
        }
        if rows.is_empty() {
            let first = bad_lines.first().map_or_else(String::new, |bad| {
                format!("; line {} {}", bad.number, bad.reason)
            });
            return Err(SimulationError::Workload(format!(
                "{} has no request{first}",
                path.display()
            )));
        }
        Ok(Self {
            bad_lines,
            ..Self::from_rows(rows, block_tokens)?
        })
    }

    /// Requests whose blocks have `block_tokens` tokens each.
    ///
    /// # Errors
    /// When one of them is not a request; the message gives its place, from 0.
    pub fn from_requests(
        requests: impl IntoIterator<Item = TraceRequest>,
        block_tokens: usize,
    ) -> Result<Self, SimulationError> {
        let rows = requests
            .into_iter()
            .enumerate()
            .map(|(place, request)| {
                let row = MooncakeRow {
                    timestamp: Some(request.arrival_seconds * 1e3),
                    input_length: Some(request.input_tokens),
                    output_length: Some(request.output_tokens),
                    hash_ids: Some(request.blocks),
                    ..MooncakeRow::default()
                };
                checked(row, block_tokens).map_err(|reason| {
                    SimulationError::Workload(format!("request {place} {reason}"))
                })
            })
            .collect::<Result<_, _>>()?;
        Self::from_rows(rows, block_tokens)
    }

    fn from_rows(mut rows: Vec<MooncakeRow>, block_tokens: usize) -> Result<Self, SimulationError> {
        // Stable: requests of the same time keep their order.
        rows.sort_by(|left, right| time(left).total_cmp(&time(right)));
        let sessions = Sessions::from_mooncake_rows(rows, block_tokens)
            .map_err(|error| SimulationError::Workload(format!("{error:#}")))?;
        Ok(Self::new(sessions, false))
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.sessions
            .sessions
            .iter()
            .map(|session| session.turns.len())
            .sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn validate(&self) -> Result<(), SimulationError> {
        if !self.speed.is_finite() || self.speed <= 0.0 {
            return Err(SimulationError::Config(format!(
                "speed must be finite and positive, but is {}",
                self.speed
            )));
        }
        if self.concurrency == Some(0) {
            return Err(SimulationError::Config(
                "concurrency must be at least 1".to_owned(),
            ));
        }
        if self.is_empty() {
            return Err(SimulationError::Workload(
                "a trace has no request".to_owned(),
            ));
        }
        Ok(())
    }

    pub(crate) fn driver(&self, block_tokens: usize) -> Result<WorkloadDriver, SimulationError> {
        let driver = || {
            let sessions = self
                .sessions
                .clone()
                .normalize_session_starts()?
                .speed_up_timing(self.speed)?;
            let is_single_turn = sessions.is_single_turn();
            let driver = match (self.concurrency, self.is_cumulative) {
                (None, false) => sessions.into_trace_driver_with_block_size(block_tokens),
                (None, true) => {
                    sessions.into_delta_accumulating_trace_driver_with_block_size(block_tokens)
                }
                (Some(clients), false) => {
                    sessions.into_concurrency_driver_with_block_size(block_tokens, clients)
                }
                (Some(clients), true) => sessions
                    .into_delta_accumulating_concurrency_driver_with_block_size(
                        block_tokens,
                        clients,
                    ),
            }?;
            anyhow::Ok(if is_single_turn {
                driver.without_session_metadata()
            } else {
                driver
            })
        };
        driver().map_err(|error| SimulationError::Workload(format!("{error:#}")))
    }
}

fn time(row: &MooncakeRow) -> f64 {
    row.timestamp.unwrap_or(0.0)
}

/// A row that can be replayed, or what is wrong with it.
fn checked(row: MooncakeRow, block_tokens: usize) -> Result<MooncakeRow, String> {
    let needs = |key: &str| format!("has no {key}");
    let timestamp = row.timestamp.ok_or_else(|| needs("timestamp"))?;
    if !timestamp.is_finite() || timestamp < 0.0 {
        return Err(format!("has the timestamp {timestamp}"));
    }
    let input_tokens = row.input_length.ok_or_else(|| needs("input_length"))?;
    let blocks = row
        .hash_ids
        .as_ref()
        .ok_or_else(|| needs("hash_ids"))?
        .len();
    if input_tokens == 0 {
        return Err("has no input token".to_owned());
    }
    if blocks.saturating_mul(block_tokens) < input_tokens {
        return Err(format!(
            "has {blocks} hash_ids of {block_tokens} tokens for {input_tokens} input tokens"
        ));
    }
    match row.output_length {
        None => Err(needs("output_length")),
        Some(0) => Err("has no output token".to_owned()),
        Some(_) => Ok(row),
    }
}
