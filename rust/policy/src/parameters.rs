//! The YAML parameters of a `regime` instance and what they resolve to for one router.

use dynamo_kv_router::{KvRouterConfig, SharedCacheType};
use dynamo_regime_core::cost::CostForm;
use dynamo_regime_core::{Policy, PolicyError, PrefillWeight, Temperature, Toll};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Credit for a shared-cache hit when neither YAML nor the router configuration names one and a
/// shared cache is configured, as in Dynamo's default policy.
const HICACHE_MULTIPLIER: f64 = 0.5;

/// What an instance's `parameters` mapping sets. What is `None` comes from the router configuration.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(try_from = "Given")]
pub(crate) struct Parameters {
    /// How the cost of a worker is formed.
    pub(crate) form: CostForm,
    temperature: Option<Temperature>,
    prefill_weight: Option<PrefillWeight>,
    overlap_score_credit: Option<f64>,
    overlap_score_credit_decay: Option<f64>,
    host_cache_hit_weight: Option<f64>,
    disk_cache_hit_weight: Option<f64>,
    shared_cache_multiplier: Option<f64>,
    decode_active_request_weight: Option<f64>,
}

/// The terms of the cost that stay fixed while a router lives; all but ω.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Credit for each prompt block cached on the worker's device, in prefill blocks.
    pub(crate) overlap_score_credit: f64,
    /// How fast that credit decays with the worker's prefill backlog above the least loaded one.
    pub(crate) overlap_score_credit_decay: f64,
    /// Credit for each prompt block cached in the worker's host memory.
    pub(crate) host_cache_hit_weight: f64,
    /// Credit for each prompt block cached on the worker's disk.
    pub(crate) disk_cache_hit_weight: f64,
    /// Credit for each prompt block in the shared cache beyond what the worker's device holds.
    pub(crate) shared_cache_multiplier: f64,
    /// Cost of each running request, in active blocks.
    pub(crate) decode_active_request_weight: f64,
}

impl Parameters {
    /// Nothing set but the form of the cost.
    pub(crate) fn of(form: CostForm) -> Self {
        Self {
            form,
            ..Self::default()
        }
    }

    /// The policy that a pool starts with.
    pub(crate) fn policy(&self, config: &KvRouterConfig) -> Policy {
        Policy {
            temperature: self
                .temperature
                .or_else(|| Temperature::try_from(config.router_temperature).ok())
                .unwrap_or(Temperature::ZERO),
            prefill_weight: self
                .prefill_weight
                .or_else(|| PrefillWeight::try_from(config.prefill_load_scale).ok())
                .unwrap_or(PrefillWeight::ONE),
        }
    }

    /// The fixed terms for a router with this configuration.
    pub(crate) fn terms(&self, config: &KvRouterConfig) -> Terms {
        let dynamos = KvRouterConfig::default();
        // Hosts validate their configuration before they build a router. Should a value from there
        // be out of range nevertheless, Dynamo's own default stands in: a plug-in stops no router.
        let term = |parameter: Option<f64>, configured: f64, default: f64| {
            let configured = Some(configured).filter(|value| is_weight(*value));
            parameter.or(configured).unwrap_or(default)
        };
        Terms {
            overlap_score_credit: term(
                self.overlap_score_credit,
                config.overlap_score_credit,
                dynamos.overlap_score_credit,
            ),
            overlap_score_credit_decay: term(
                self.overlap_score_credit_decay,
                config.overlap_score_credit_decay,
                dynamos.overlap_score_credit_decay,
            ),
            host_cache_hit_weight: term(
                self.host_cache_hit_weight,
                config.host_cache_hit_weight,
                dynamos.host_cache_hit_weight,
            ),
            disk_cache_hit_weight: term(
                self.disk_cache_hit_weight,
                config.disk_cache_hit_weight,
                dynamos.disk_cache_hit_weight,
            ),
            shared_cache_multiplier: term(
                self.shared_cache_multiplier,
                shared_cache_multiplier(config),
                0.0,
            ),
            decode_active_request_weight: term(
                self.decode_active_request_weight,
                config.decode_active_request_weight,
                dynamos.decode_active_request_weight,
            ),
        }
    }
}

fn shared_cache_multiplier(config: &KvRouterConfig) -> f64 {
    config
        .shared_cache_multiplier
        .unwrap_or(match config.shared_cache_type {
            SharedCacheType::None => 0.0,
            SharedCacheType::Hicache => HICACHE_MULTIPLIER,
        })
}

fn is_weight(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

/// The mapping as it was written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Given {
    mode: Option<Mode>,
    kv_blocks: Option<Scalar>,
    interference: Option<Scalar>,
    queueing: Option<Scalar>,
    request_tokens: Option<Scalar>,
    active_token_weight: Option<Scalar>,
    pole_tokens: Option<Scalar>,
    temperature: Option<Scalar>,
    prefill_weight: Option<Scalar>,
    overlap_score_credit: Option<Scalar>,
    overlap_score_credit_decay: Option<Scalar>,
    host_cache_hit_weight: Option<Scalar>,
    disk_cache_hit_weight: Option<Scalar>,
    shared_cache_multiplier: Option<Scalar>,
    decode_active_request_weight: Option<Scalar>,
}

/// How the cost of a worker is formed.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Linear,
    Toll,
}

/// Anything, so that what is not a number can be refused by the name of its key.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Number(f64),
    Other(IgnoredAny),
}

/// A parameter that is refused, in one sentence that names its key.
#[derive(Debug, thiserror::Error)]
enum ParameterError {
    #[error("{0} must be a number")]
    NotANumber(&'static str),
    #[error("{0} must be finite and not negative, but is {1}")]
    OutOfRange(&'static str, f64),
    #[error("{0} belongs to mode: {1}, and this instance has the other one: leave it out")]
    OfTheOtherMode(&'static str, &'static str),
    #[error("kv_blocks is missing: name the KV blocks of one worker, or set pole_tokens: 0")]
    NoCapacity,
    #[error("kv_blocks must be finite and positive, but is {0}")]
    Capacity(f64),
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl TryFrom<Given> for Parameters {
    type Error = ParameterError;

    fn try_from(given: Given) -> Result<Self, ParameterError> {
        Ok(Self {
            form: given.form()?,
            temperature: number("temperature", given.temperature.as_ref())?
                .map(Temperature::try_from)
                .transpose()?,
            prefill_weight: number("prefill_weight", given.prefill_weight.as_ref())?
                .map(PrefillWeight::try_from)
                .transpose()?,
            overlap_score_credit: weight("overlap_score_credit", given.overlap_score_credit)?,
            overlap_score_credit_decay: weight(
                "overlap_score_credit_decay",
                given.overlap_score_credit_decay,
            )?,
            host_cache_hit_weight: weight("host_cache_hit_weight", given.host_cache_hit_weight)?,
            disk_cache_hit_weight: weight("disk_cache_hit_weight", given.disk_cache_hit_weight)?,
            shared_cache_multiplier: weight(
                "shared_cache_multiplier",
                given.shared_cache_multiplier,
            )?,
            decode_active_request_weight: weight(
                "decode_active_request_weight",
                given.decode_active_request_weight,
            )?,
        })
    }
}

impl Given {
    fn form(&self) -> Result<CostForm, ParameterError> {
        let tolls = [
            ("kv_blocks", &self.kv_blocks),
            ("interference", &self.interference),
            ("queueing", &self.queueing),
            ("request_tokens", &self.request_tokens),
            ("active_token_weight", &self.active_token_weight),
            ("pole_tokens", &self.pole_tokens),
        ];
        match self.mode.unwrap_or(Mode::Linear) {
            Mode::Linear => match tolls.iter().find(|(_, given)| given.is_some()) {
                Some((key, _)) => Err(ParameterError::OfTheOtherMode(key, "toll")),
                None => Ok(CostForm::Linear),
            },
            Mode::Toll if self.decode_active_request_weight.is_some() => {
                let key = "decode_active_request_weight";
                Err(ParameterError::OfTheOtherMode(key, "linear"))
            }
            Mode::Toll => self.toll(),
        }
    }

    fn toll(&self) -> Result<CostForm, ParameterError> {
        let term = |key, given: &Option<Scalar>, tuned| {
            number(key, given.as_ref()).map(|value| value.unwrap_or(tuned))
        };
        let tuned = Toll::TUNED;
        let toll = Toll {
            interference: term("interference", &self.interference, tuned.interference)?,
            queueing: term("queueing", &self.queueing, tuned.queueing)?,
            request_tokens: term("request_tokens", &self.request_tokens, tuned.request_tokens)?,
            active_token_weight: term(
                "active_token_weight",
                &self.active_token_weight,
                tuned.active_token_weight,
            )?,
            pole_tokens: term("pole_tokens", &self.pole_tokens, tuned.pole_tokens)?,
        }
        .validated()?;
        let kv_blocks = match number("kv_blocks", self.kv_blocks.as_ref())? {
            Some(blocks) if blocks.is_finite() && blocks > 0.0 => blocks,
            Some(blocks) => return Err(ParameterError::Capacity(blocks)),
            None if toll.pole_tokens == 0.0 => f64::INFINITY,
            None => return Err(ParameterError::NoCapacity),
        };
        Ok(CostForm::Toll { toll, kv_blocks })
    }
}

fn number(key: &'static str, given: Option<&Scalar>) -> Result<Option<f64>, ParameterError> {
    match given {
        None => Ok(None),
        Some(Scalar::Number(value)) => Ok(Some(*value)),
        Some(Scalar::Other(_)) => Err(ParameterError::NotANumber(key)),
    }
}

fn weight(key: &'static str, given: Option<Scalar>) -> Result<Option<f64>, ParameterError> {
    match number(key, given.as_ref())? {
        Some(value) if !is_weight(value) => Err(ParameterError::OutOfRange(key, value)),
        value => Ok(value),
    }
}
