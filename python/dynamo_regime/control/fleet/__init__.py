"""Several frontends that share one decision through NATS.

Nothing is imported here: NATS is loaded only where a fleet is configured.
"""
