//! What a frontend is started with: the values of Dynamo's own flags.

use std::path::PathBuf;

use dynamo_kv_router::KvRouterConfig;
use dynamo_kv_router::config::ApproximateCachePolicyKind;
use dynamo_llm::discovery::LoadThresholdConfig;
use dynamo_llm::entrypoint::RouterConfig;
use dynamo_llm::local_model::LocalModelBuilder;
use dynamo_llm::local_model::runtime_config::TokenizerBackend;
use dynamo_llm::reasoning_field::ReasoningField;
use dynamo_llm::session_affinity::SessionAffinityMode;
use dynamo_runtime::pipeline::RouterMode;
use dynamo_runtime::pipeline::network::ResponsePlaneMode;
use serde::Deserialize;

use crate::HostError;

/// The values of Dynamo's frontend flags, named as the flags are. Routing is by KV cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Address that the OpenAI API listens on.
    pub http_host: String,
    /// Port that the OpenAI API listens on.
    pub http_port: u16,
    /// Tokens in a KV block; the model card's where it is not set.
    pub kv_cache_block_size: Option<u32>,
    /// Server certificate, PEM.
    pub tls_cert_path: Option<PathBuf>,
    /// Key of the server certificate, PEM.
    pub tls_key_path: Option<PathBuf>,
    /// Authority that client certificates are verified with, PEM.
    pub tls_client_ca_cert_path: Option<PathBuf>,
    /// Namespace whose models are served.
    pub namespace: Option<String>,
    /// Prefix of the namespaces whose models are served.
    pub namespace_prefix: Option<String>,
    /// Served model's name.
    pub model_name: Option<String>,
    /// Folder of the served model.
    pub model_path: Option<PathBuf>,
    /// How often a request may move to another worker.
    pub migration_limit: u32,
    /// Sequence length in tokens beyond which a request does not move.
    pub migration_max_seq_len: Option<u32>,
    /// Prefix of the frontend's metric names.
    pub metrics_prefix: Option<String>,
    /// `etcd`, `kubernetes`, `file` or `mem`.
    pub discovery_backend: String,
    /// `tcp` or `nats`.
    pub request_plane: String,
    /// `tcp` or `quic`.
    pub response_plane: String,
    /// `zmq` or `nats`; Dynamo's choice where it is not set.
    pub event_plane: Option<String>,
    /// Serve the Anthropic Messages API.
    pub enable_anthropic_api: bool,
    /// Strip the billing preamble of Anthropic clients.
    pub strip_anthropic_preamble: bool,
    /// Dispatch tool calls as events while they stream.
    pub enable_streaming_tool_dispatch: bool,
    /// Dispatch reasoning as an event.
    pub enable_streaming_reasoning_dispatch: bool,
    /// Response field of reasoning text.
    pub reasoning_field_name: String,
    /// Tokenizer implementation.
    pub tokenizer_backend: TokenizerBackend,
    /// Whether a tokenizer that does not load gives way to the default one.
    pub tokenizer_fallback: bool,
    /// Idle time in seconds after which a session loses its worker; no affinity where not set.
    pub session_affinity_ttl_secs: Option<u64>,
    /// `hard` or `soft`.
    pub session_affinity_mode: String,
    /// When a worker counts as overloaded.
    pub load_thresholds: LoadThresholdConfig,
    /// The KV router's configuration; what is left out has Dynamo's default.
    pub kv_router: KvRouterConfig,
    /// Worker-selection instance of prefill pools, before the router-policy file's.
    pub router_prefill_policy: Option<String>,
    /// Worker-selection instance of decode pools, before the router-policy file's.
    pub router_decode_policy: Option<String>,
    /// How long entries of an approximate index are kept.
    pub router_approximate_cache_policy: ApproximateCachePolicyKind,
}

impl Options {
    /// The KV router's configuration in force: flags, then the router-policy file's own settings.
    ///
    /// # Errors
    /// When the router-policy file cannot be read or a value is refused.
    pub fn kv_router_config(&self) -> Result<KvRouterConfig, HostError> {
        let mut config = self.kv_router.clone();
        // Dynamo leaves these three out of what is serialised: they belong to this process.
        config
            .router_prefill_policy
            .clone_from(&self.router_prefill_policy);
        config
            .router_decode_policy
            .clone_from(&self.router_decode_policy);
        config.router_approximate_cache_policy = self.router_approximate_cache_policy;
        config
            .apply_policy_config()
            .and_then(|()| config.validate())
            .map_err(HostError::Configuration)?;
        Ok(config)
    }

    pub(crate) fn router_config(
        &self,
        kv_router: KvRouterConfig,
    ) -> Result<RouterConfig, HostError> {
        self.load_thresholds
            .validate()
            .map_err(HostError::Configuration)?;
        let mut config = RouterConfig::new(RouterMode::KV, kv_router)
            .with_load_threshold_config(self.load_thresholds.clone());
        config.session_affinity_ttl_secs = self.session_affinity_ttl_secs;
        config.session_affinity_mode = self
            .session_affinity_mode
            .parse::<SessionAffinityMode>()
            .map_err(HostError::Configuration)?;
        Ok(config)
    }

    pub(crate) fn model(&self, router: RouterConfig) -> Result<LocalModelBuilder, HostError> {
        let mut builder = LocalModelBuilder::default();
        builder
            .http_host(Some(self.http_host.clone()))
            .http_port(self.http_port)
            .kv_cache_block_size(self.kv_cache_block_size)
            .tls_cert_path(self.tls_cert_path.clone())
            .tls_key_path(self.tls_key_path.clone())
            .tls_client_ca_cert_path(self.tls_client_ca_cert_path.clone())
            .namespace(self.namespace.clone())
            .namespace_prefix(self.namespace_prefix.clone())
            .model_name(self.model_name.clone())
            .migration_limit(Some(self.migration_limit))
            .migration_max_seq_len(self.migration_max_seq_len)
            .metrics_prefix(self.metrics_prefix.clone())
            .enable_anthropic_api(self.enable_anthropic_api)
            .strip_anthropic_preamble(self.strip_anthropic_preamble)
            .enable_streaming_tool_dispatch(self.enable_streaming_tool_dispatch)
            .enable_streaming_reasoning_dispatch(self.enable_streaming_reasoning_dispatch)
            .reasoning_field(self.reasoning_field()?)
            .router_config(Some(router));
        let mut runtime_config =
            dynamo_llm::local_model::runtime_config::ModelRuntimeConfig::default();
        runtime_config.set_tokenizer_fallback_enabled(Some(self.tokenizer_fallback));
        builder
            .runtime_config(runtime_config)
            .tokenizer_backend(Some(self.tokenizer_backend));
        if let Some(path) = &self.model_path {
            builder.model_path(path.clone()).source_path(path.clone());
        }
        Ok(builder)
    }

    pub(crate) fn response_plane(&self) -> Result<ResponsePlaneMode, HostError> {
        [ResponsePlaneMode::Tcp, ResponsePlaneMode::Quic]
            .into_iter()
            .find(|mode| mode.name() == self.response_plane)
            .ok_or_else(|| {
                HostError::Configuration(format!(
                    "response_plane must be tcp or quic, but is {:?}",
                    self.response_plane
                ))
            })
    }

    fn reasoning_field(&self) -> Result<ReasoningField, HostError> {
        [ReasoningField::ReasoningContent, ReasoningField::Reasoning]
            .into_iter()
            .find(|field| field.as_str() == self.reasoning_field_name)
            .ok_or_else(|| {
                HostError::Configuration(format!(
                    "reasoning_field_name must be reasoning_content or reasoning, but is {:?}",
                    self.reasoning_field_name
                ))
            })
    }
}
