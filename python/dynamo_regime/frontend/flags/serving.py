"""Flags of the HTTP service and of the models that it serves."""

from dynamo_regime.frontend.flags.flag import (
    U16_MAX,
    Goes,
    flag,
    folder,
    integer,
    nonblank,
    path,
    truth,
)

HTTP = (
    flag("--http-host", "DYN_HTTP_HOST", "0.0.0.0", "Address that the OpenAI API listens on."),
    flag(
        "--http-port",
        "DYN_HTTP_PORT",
        8000,
        "Port that the OpenAI API listens on.",
        read=integer(1, U16_MAX),
    ),
    flag(
        "--tls-cert-path",
        "DYN_TLS_CERT_PATH",
        None,
        "Serve HTTPS with this certificate (PEM).",
        read=path,
    ),
    flag(
        "--tls-key-path",
        "DYN_TLS_KEY_PATH",
        None,
        "Private key of that certificate (PEM).",
        read=path,
    ),
    flag(
        "--tls-client-ca-cert-path",
        "DYN_TLS_CLIENT_CA_CERT_PATH",
        None,
        "Ask clients for a certificate that this authority (PEM) has signed.",
        read=path,
    ),
    flag(
        "--metrics-prefix",
        "DYN_METRICS_PREFIX",
        None,
        "First part of the names in /metrics; dynamo_frontend where not set.",
    ),
    flag(
        "--enable-anthropic-api",
        "DYN_ENABLE_ANTHROPIC_API",
        False,
        "Serve Anthropic's Messages API under /v1/messages too. Experimental.",
        read=truth,
    ),
    flag(
        "--strip-anthropic-preamble",
        "DYN_STRIP_ANTHROPIC_PREAMBLE",
        True,
        "Take the billing header of Claude Code out of system prompts, for more cache hits.",
        read=truth,
    ),
    flag(
        "--enable-streaming-tool-dispatch",
        "DYN_ENABLE_STREAMING_TOOL_DISPATCH",
        False,
        "Send an event for each tool call as soon as it is complete. Experimental.",
        read=truth,
    ),
    flag(
        "--enable-streaming-reasoning-dispatch",
        "DYN_ENABLE_STREAMING_REASONING_DISPATCH",
        False,
        "Send one event with the whole reasoning once it is complete. Experimental.",
        read=truth,
    ),
    flag(
        "--reasoning-field-name",
        "DYN_REASONING_FIELD_NAME",
        "reasoning_content",
        "Response field that reasoning is sent in.",
        choices=("reasoning_content", "reasoning"),
    ),
)

MODEL = (
    flag("--model-name", "DYN_MODEL_NAME", None, "Name of the model.", read=nonblank),
    flag(
        "--model-path",
        "DYN_MODEL_PATH",
        None,
        "Folder of the model on this machine.",
        read=folder,
    ),
    flag(
        "--kv-cache-block-size",
        "DYN_KV_CACHE_BLOCK_SIZE",
        None,
        "Tokens in a KV-cache block; the worker says it where not set.",
        read=integer(1),
    ),
    flag(
        "--tokenizer",
        "DYN_TOKENIZER",
        "default",
        "Implementation of BPE tokenizers.",
        choices=("default", "fastokens", "basetenkenizer"),
        key="tokenizer_backend",
    ),
    flag(
        "--tokenizer-fallback",
        "DYN_TOKENIZER_FALLBACK",
        True,
        "Use the default tokenizer where the chosen one does not load the model's.",
        read=truth,
    ),
    flag(
        "--migration-limit",
        "DYN_MIGRATION_LIMIT",
        0,
        "How often a request may go on at another worker after its own has failed.",
        read=integer(),
    ),
    flag(
        "--migration-max-seq-len",
        "DYN_MIGRATION_MAX_SEQ_LEN",
        None,
        "Tokens (prompt and answer) beyond which a request no longer migrates.",
        read=integer(1),
    ),
)

ADMIN = (
    flag(
        "--admin-host",
        "DYNAMO_REGIME_ADMIN_HOST",
        "127.0.0.1",
        "Address of the admin listener; one that is not loopback needs a token in "
        "DYNAMO_REGIME_ADMIN_TOKEN.",
        read=nonblank,
        goes=Goes.LAUNCHER,
    ),
    flag(
        "--admin-port",
        "DYNAMO_REGIME_ADMIN_PORT",
        9345,
        "Port of the admin listener; 0 starts none.",
        read=integer(0, U16_MAX),
        goes=Goes.LAUNCHER,
    ),
)
