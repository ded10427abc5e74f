//! Starting, waiting for and draining Dynamo's frontend, on Dynamo's own threads.

use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use dynamo_kv_router::KvRouterConfig;
use dynamo_kv_router::plugins::RouterPlugins;
use dynamo_llm::entrypoint::{EngineConfig, HttpFrontend};
use dynamo_runtime::distributed::DistributedConfig;
use dynamo_runtime::{DistributedRuntime, Runtime, Worker};
use parking_lot::Mutex;

use crate::options::Options;
use crate::trace::RequestTrace;

/// How long a frontend may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Why a frontend does not serve, or no longer does.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HostError {
    /// An option or the router-policy file was refused.
    #[error("{0}")]
    Configuration(String),
    /// Somebody else listens on the port, or the address is not this machine's.
    #[error(
        "cannot listen on {address}: {reason}; choose another with --http-host and --http-port"
    )]
    Address {
        /// Host and port.
        address: String,
        /// The system's reason.
        reason: String,
    },
    /// Dynamo's runtime did not start or could not reach its discovery backend.
    #[error("Dynamo's runtime does not start with discovery backend {backend}: {reason}")]
    Runtime {
        /// The discovery backend that was asked for.
        backend: String,
        /// Dynamo's reason.
        reason: String,
    },
    /// The frontend ended with an error.
    #[error("Dynamo's frontend ended: {0}")]
    Ended(String),
    /// The frontend started and yet nobody answers on its port.
    #[error("Dynamo's frontend does not listen on {0} within {1:?}")]
    Silent(String, Duration),
}

/// A serving frontend. It ends when [`Frontend::shutdown`] is called, or by itself on an error.
pub struct Frontend {
    runtime: Runtime,
    ended: Mutex<Receiver<Result<(), HostError>>>,
    result: Mutex<Option<Result<(), HostError>>>,
    trace: RequestTrace,
}

impl Frontend {
    /// Start Dynamo's frontend with these plug-ins, and return once it listens.
    ///
    /// `kv_router` is [`Options::kv_router_config`]; the plug-ins were resolved from it.
    /// It runs on Dynamo's own tokio threads; there is one such runtime in a process.
    ///
    /// # Errors
    /// When an option is refused, the address is taken, discovery is out of reach, or the frontend
    /// ends before it listens.
    pub fn start(
        options: &Options,
        kv_router: KvRouterConfig,
        plugins: RouterPlugins,
    ) -> Result<Self, HostError> {
        let address = format!("{}:{}", options.http_host, options.http_port);
        let probe = probe_address(&address)?;
        let router = options.router_config(kv_router)?;
        let mut model = options.model(router)?;
        let distributed = distributed_config(options)?;
        let unstarted = |reason: anyhow::Error| HostError::Runtime {
            backend: options.discovery_backend.clone(),
            reason: format!("{reason:#}"),
        };
        let runtime = Worker::runtime_from_existing().map_err(unstarted)?;
        dynamo_runtime::logging::init();

        let (finish, ended) = mpsc::channel();
        let (announce, announced) = mpsc::channel();
        let serving = runtime.clone();
        runtime.primary().spawn(async move {
            let result = async {
                let drt = DistributedRuntime::new(serving, distributed).await?;
                let engine = EngineConfig::Dynamic {
                    model: Box::new(model.build().await?),
                    chat_engine_factory: None,
                    prefill_load_estimator: None,
                };
                // The start-up failures above are the runtime's; those below the frontend's.
                let _ = announce.send(());
                drop(announce);
                HttpFrontend::default()
                    .plugins(plugins)
                    .run(drt, engine)
                    .await
            }
            .await;
            // Whoever started this may have gone.
            let _ = finish.send(
                result.map_err(|error: anyhow::Error| HostError::Ended(format!("{error:#}"))),
            );
        });
        let frontend = Self {
            runtime,
            ended: Mutex::new(ended),
            result: Mutex::new(None),
            trace: RequestTrace::default(),
        };
        if announced.recv().is_err() {
            let reason = match frontend.wait(None) {
                Some(Err(HostError::Ended(reason))) => reason,
                _ => "it ended at once".to_owned(),
            };
            return Err(HostError::Runtime {
                backend: options.discovery_backend.clone(),
                reason,
            });
        }
        frontend.wait_until_it_listens(&address, probe)?;
        frontend.trace.subscribe();
        Ok(frontend)
    }

    /// Wait for the end, at most so long: `None` while it serves on.
    pub fn wait(&self, timeout: Option<Duration>) -> Option<Result<(), HostError>> {
        let ended = self.ended.lock();
        let mut result = self.result.lock();
        if result.is_none() {
            let died = || HostError::Ended("its task was aborted".to_owned());
            *result = match timeout {
                Some(timeout) => match ended.recv_timeout(timeout) {
                    Ok(result) => Some(result),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => Some(Err(died())),
                },
                None => Some(ended.recv().unwrap_or_else(|_| Err(died()))),
            };
        }
        result.clone()
    }

    /// Take no more requests, finish those under way, and end; [`Frontend::wait`] tells when.
    pub fn shutdown(&self) {
        self.runtime.shutdown();
    }

    /// Dynamo's request trace.
    pub fn trace(&self) -> &RequestTrace {
        &self.trace
    }

    fn wait_until_it_listens(
        &self,
        address: &str,
        connect_to: std::net::SocketAddr,
    ) -> Result<(), HostError> {
        let started = Instant::now();
        loop {
            if let Some(result) = self.wait(Some(POLL_INTERVAL)) {
                let ended = HostError::Ended("it was shut down while it started".to_owned());
                return Err(result.err().unwrap_or(ended));
            }
            if TcpStream::connect_timeout(&connect_to, POLL_INTERVAL).is_ok() {
                return Ok(());
            }
            if started.elapsed() > START_TIMEOUT {
                self.shutdown();
                return Err(HostError::Silent(address.to_owned(), START_TIMEOUT));
            }
        }
    }
}

/// Refuse an address that cannot be bound, before anything is started; else, where to connect to it.
fn probe_address(address: &str) -> Result<std::net::SocketAddr, HostError> {
    let refused = |error: std::io::Error| HostError::Address {
        address: address.to_owned(),
        reason: error.to_string(),
    };
    let listener = TcpListener::bind(address).map_err(refused)?;
    let mut bound = listener.local_addr().map_err(refused)?;
    if bound.ip().is_unspecified() {
        let loopback = if bound.is_ipv4() {
            "127.0.0.1:0"
        } else {
            "[::1]:0"
        };
        if let Some(loopback) = loopback
            .to_socket_addrs()
            .ok()
            .and_then(|mut all| all.next())
        {
            bound.set_ip(loopback.ip());
        }
    }
    Ok(bound)
}

fn distributed_config(options: &Options) -> Result<DistributedConfig, HostError> {
    let refused = |error: anyhow::Error| HostError::Configuration(format!("{error:#}"));
    let mut config = DistributedConfig::from_settings_with_overrides(
        Some(&options.discovery_backend),
        Some(&options.request_plane),
        options.event_plane.as_deref(),
    )
    .map_err(refused)?;
    config.response_plane = Some(options.response_plane()?);
    Ok(config)
}
