"""Flags of how frontend and workers find each other and talk."""

from dynamo_regime.frontend.flags.flag import Flag, Goes, flag, truth

DISCOVERY = (
    flag("--namespace", "DYN_NAMESPACE", None, "Serve the models of this namespace only."),
    flag(
        "--namespace-prefix",
        "DYN_NAMESPACE_PREFIX",
        None,
        "Serve the models of all namespaces that begin so; wins over --namespace.",
    ),
    flag(
        "--discovery-backend",
        "DYN_DISCOVERY_BACKEND",
        "etcd",
        "Where workers are found: etcd at ETCD_ENDPOINTS (waited for, two minutes unless "
        "ETCD_STARTUP_CONNECT_TIMEOUT_SECONDS says otherwise), Kubernetes, the folder DYN_FILE_KV "
        "(dynamo_store_kv in the temporary folder where not set), or this process.",
        choices=("kubernetes", "etcd", "file", "mem"),
    ),
    flag(
        "--request-plane",
        "DYN_REQUEST_PLANE",
        "tcp",
        "How requests reach workers.",
        choices=("nats", "tcp"),
    ),
    flag(
        "--response-plane",
        "DYN_RESPONSE_PLANE",
        "tcp",
        "How answers come back; frontend and workers must agree. It listens on all addresses "
        "unless DYN_TCP_RESPONSE_STREAM_HOST or DYN_TCP_RPC_HOST names one.",
        choices=("tcp", "quic"),
    ),
    flag(
        "--event-plane",
        "DYN_EVENT_PLANE",
        None,
        "How cache and load events travel; zmq where not set. It listens on all addresses unless "
        "DYN_EVENT_PLANE_HOST names one.",
        choices=("nats", "zmq"),
    ),
)


def _transport(name: str, variable: str, help_sentence: str) -> Flag:
    return flag(name, variable, None, help_sentence, goes=Goes.ENVIRONMENT)


TRANSPORT_TLS = (
    _transport("--tcp-tls-cert-path", "DYN_TCP_TLS_CERT_PATH", "Certificate of the TCP planes."),
    _transport("--tcp-tls-key-path", "DYN_TCP_TLS_KEY_PATH", "Private key of that certificate."),
    _transport(
        "--tcp-tls-ca-cert-path",
        "DYN_TCP_TLS_CA_CERT_PATH",
        "Authority that the other side's certificate is verified with.",
    ),
    _transport(
        "--tcp-tls-client-cert-path",
        "DYN_TCP_TLS_CLIENT_CERT_PATH",
        "Certificate to show to the other side's TCP server.",
    ),
    _transport(
        "--tcp-tls-client-key-path",
        "DYN_TCP_TLS_CLIENT_KEY_PATH",
        "Private key of the client certificate.",
    ),
    _transport(
        "--tcp-tls-client-ca-cert-path",
        "DYN_TCP_TLS_CLIENT_CA_CERT_PATH",
        "Authority that client certificates are verified with; clients then need one.",
    ),
    _transport(
        "--nats-tls-ca-cert-path",
        "NATS_TLS_CA_CERT_PATH",
        "Authority that the NATS server's certificate is verified with.",
    ),
    flag(
        "--nats-tls-insecure",
        "NATS_TLS_INSECURE",
        False,
        "Do not verify the NATS server's certificate. For development only.",
        read=truth,
        goes=Goes.ENVIRONMENT,
    ),
    _transport(
        "--nats-tls-client-cert-path",
        "NATS_TLS_CLIENT_CERT_PATH",
        "Certificate to show to the NATS server.",
    ),
    _transport(
        "--nats-tls-client-key-path",
        "NATS_TLS_CLIENT_KEY_PATH",
        "Private key of that certificate.",
    ),
)
