//! Synthetic conversations that begin with one of a few popular prefixes.

use aisimulate_core::replay::loadgen::{SessionTrace, Trace as Sessions, TurnTrace};
use fastrand::Rng;

use crate::error::SimulationError;
use crate::workload::Trace;

/// Tokens of a block of the generated prompts; prefixes are whole blocks.
const BLOCK_TOKENS: usize = 64;

/// Conversations: sessions arrive as a Poisson process, begin with a shared prefix that is drawn by
/// Zipf's law, and have several turns, each of which sees all that was said before. Lengths and the
/// time to think are exponential.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiTurn {
    /// How many conversations there are.
    pub sessions: usize,
    /// Turns of each.
    pub turns: usize,
    /// Shared prefixes, such as system prompts.
    pub prefixes: usize,
    /// The k-th prefix is drawn with probability ∝ 1/k^s; 0 draws all alike.
    pub zipf_exponent: f64,
    /// Tokens of a prefix, rounded up to whole blocks.
    pub prefix_tokens: usize,
    /// Mean tokens that a turn adds.
    pub input_tokens: f64,
    /// Mean tokens of an answer.
    pub output_tokens: f64,
    /// Conversations that begin per second.
    pub sessions_per_second: f64,
    /// Mean time between an answer and the next turn, in seconds.
    pub think_seconds: f64,
}

impl Default for MultiTurn {
    fn default() -> Self {
        Self {
            sessions: 1000,
            turns: 4,
            prefixes: 32,
            zipf_exponent: 1.0,
            prefix_tokens: 2048,
            input_tokens: 256.0,
            output_tokens: 128.0,
            sessions_per_second: 2.0,
            think_seconds: 5.0,
        }
    }
}

impl MultiTurn {
    /// Draw the conversations. The same seed draws the same.
    ///
    /// # Errors
    /// When a parameter is out of range; the message names it.
    pub fn generate(&self, seed: u64) -> Result<Trace, SimulationError> {
        self.validate()?;
        let mut rng = Rng::with_seed(seed);
        let cumulative = self.popularity();
        let mut next_block = self.prefixes * self.prefix_blocks();
        let mut start_ms = 0.0;
        let mut sessions = Vec::with_capacity(self.sessions);
        for number in 0..self.sessions {
            start_ms += exponential(&mut rng, 1e3 / self.sessions_per_second);
            let drawn = rng.f64();
            let prefix = cumulative.partition_point(|share| *share <= drawn);
            let prefix = prefix.min(self.prefixes - 1);
            let turns = (0..self.turns)
                .map(|turn| self.turn(turn, prefix, &mut next_block, &mut rng))
                .collect::<Result<Vec<_>, _>>()?;
            sessions.push(SessionTrace {
                session_id: format!("session-{number}"),
                first_arrival_timestamp_ms: Some(start_ms),
                turns,
            });
        }
        Ok(Trace::new(
            Sessions {
                block_size: BLOCK_TOKENS,
                sessions,
            },
            true,
        ))
    }

    fn turn(
        &self,
        turn: usize,
        prefix: usize,
        next_block: &mut usize,
        rng: &mut Rng,
    ) -> Result<TurnTrace, SimulationError> {
        let shared = if turn == 0 { self.prefix_blocks() } else { 0 };
        let added_tokens = tokens(rng, self.input_tokens);
        let own = added_tokens.div_ceil(BLOCK_TOKENS);
        let first_shared = prefix * self.prefix_blocks();
        let blocks = (first_shared..first_shared + shared).chain(*next_block..*next_block + own);
        *next_block += own;
        Ok(TurnTrace {
            input_length: shared * BLOCK_TOKENS + added_tokens,
            max_output_tokens: tokens(rng, self.output_tokens),
            hash_ids: blocks
                .map(|block| {
                    u32::try_from(block).map_err(|_| {
                        SimulationError::Workload(
                            "more prompt blocks than have names: ask for fewer sessions".to_owned(),
                        )
                    })
                })
                .collect::<Result<_, _>>()?,
            delay_after_previous_ms: if turn == 0 {
                0.0
            } else {
                exponential(rng, self.think_seconds * 1e3)
            },
            ..TurnTrace::default()
        })
    }

    fn prefix_blocks(&self) -> usize {
        self.prefix_tokens.div_ceil(BLOCK_TOKENS)
    }

    /// Cumulative probability of each prefix.
    fn popularity(&self) -> Vec<f64> {
        let weight = |rank: usize| (rank as f64).powf(-self.zipf_exponent);
        let total: f64 = (1..=self.prefixes).map(weight).sum();
        let mut sum = 0.0;
        (1..=self.prefixes)
            .map(|rank| {
                sum += weight(rank) / total;
                sum
            })
            .collect()
    }

    fn validate(&self) -> Result<(), SimulationError> {
        let counts = [
            ("sessions", self.sessions),
            ("turns", self.turns),
            ("prefixes", self.prefixes),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(SimulationError::Config(format!(
                    "{name} must be at least 1"
                )));
            }
        }
        let positive = [
            ("input_tokens", self.input_tokens),
            ("output_tokens", self.output_tokens),
            ("sessions_per_second", self.sessions_per_second),
        ];
        for (name, value) in positive {
            if !value.is_finite() || value <= 0.0 {
                return Err(SimulationError::Config(format!(
                    "{name} must be finite and positive, but is {value}"
                )));
            }
        }
        let not_negative = [
            ("zipf_exponent", self.zipf_exponent),
            ("think_seconds", self.think_seconds),
        ];
        for (name, value) in not_negative {
            if !value.is_finite() || value < 0.0 {
                return Err(SimulationError::Config(format!(
                    "{name} must be finite and not negative, but is {value}"
                )));
            }
        }
        Ok(())
    }
}

/// An exponential draw; 1 − u is never 0.
fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -mean * (1.0 - rng.f64()).ln()
}

/// An exponential number of tokens, at least one.
fn tokens(rng: &mut Rng, mean: f64) -> usize {
    exponential(rng, mean).round().max(1.0) as usize
}
