//! One routing decision as a value.

/// What was decided for one request, and on what grounds. Absent facts are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// When it was decided, in nanoseconds since the UNIX epoch.
    pub time_ns: u64,
    /// Version of the policy that decided.
    pub version: u64,
    /// Temperature τ that was applied (a request's own override, if it had one).
    pub temperature: f64,
    /// Prefill weight ω that was applied.
    pub prefill_weight: f64,
    /// The chosen worker.
    pub worker_id: u64,
    /// Data-parallel rank of the chosen worker.
    pub dp_rank: u32,
    /// How many workers there were to choose from.
    pub candidates: u32,
    /// Cost of the chosen worker, in active blocks.
    pub cost: f64,
    /// Lowest cost of all candidates.
    pub min_cost: f64,
    /// Highest cost of all candidates.
    pub max_cost: f64,
    /// Prefill backlog of the chosen worker before this request, in KV blocks.
    pub prefill_blocks: f64,
    /// KV blocks that the running requests hold on the chosen worker.
    pub active_blocks: f64,
    /// Prompt length of the request, in KV blocks.
    pub request_blocks: Option<f64>,
    /// Running requests on the chosen worker.
    pub active_requests: Option<f64>,
    /// Prompt blocks cached on the chosen worker's device.
    pub overlap_blocks: Option<f64>,
    /// The most prompt blocks cached on any candidate's device.
    pub best_overlap_blocks: Option<f64>,
    /// How long the choice took, in nanoseconds, of the decisions that were timed.
    pub elapsed_ns: Option<f64>,
}

/// Words of a decision in the ring.
pub(crate) const WORDS: usize = 16;

impl Decision {
    pub(crate) fn to_words(self) -> [u64; WORDS] {
        let optional = |value: Option<f64>| value.unwrap_or(f64::NAN).to_bits();
        [
            self.time_ns,
            self.version,
            self.temperature.to_bits(),
            self.prefill_weight.to_bits(),
            self.worker_id,
            u64::from(self.dp_rank) << 32 | u64::from(self.candidates),
            self.cost.to_bits(),
            self.min_cost.to_bits(),
            self.max_cost.to_bits(),
            self.prefill_blocks.to_bits(),
            self.active_blocks.to_bits(),
            optional(self.request_blocks),
            optional(self.active_requests),
            optional(self.overlap_blocks),
            optional(self.best_overlap_blocks),
            optional(self.elapsed_ns),
        ]
    }

    pub(crate) fn from_words(words: [u64; WORDS]) -> Self {
        let optional = |word| Some(f64::from_bits(word)).filter(|value| !value.is_nan());
        Self {
            time_ns: words[0],
            version: words[1],
            temperature: f64::from_bits(words[2]),
            prefill_weight: f64::from_bits(words[3]),
            worker_id: words[4],
            dp_rank: (words[5] >> 32) as u32,
            candidates: words[5] as u32,
            cost: f64::from_bits(words[6]),
            min_cost: f64::from_bits(words[7]),
            max_cost: f64::from_bits(words[8]),
            prefill_blocks: f64::from_bits(words[9]),
            active_blocks: f64::from_bits(words[10]),
            request_blocks: optional(words[11]),
            active_requests: optional(words[12]),
            overlap_blocks: optional(words[13]),
            best_overlap_blocks: optional(words[14]),
            elapsed_ns: optional(words[15]),
        }
    }
}
