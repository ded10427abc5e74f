"""One sentence for each way in which a request can be wrong."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from dynamo_regime.admin.wire import MAX_LIMIT, DecisionsQuery, PolicyUpdate, Refusal

CONTROLLER_PATHS = frozenset(
    {"/v1/controller", "/v1/events", "/v1/requests", "/v1/override", "/metrics"}
)
NO_CONTROLLER = (
    "this frontend runs no controller: give its router-policy file a section regime_controller "
    "whose mode is not off"
)
NO_REQUESTS = (
    "this frontend's controller does not read the requests of its own process: leave "
    "regime_controller.signals out of the router-policy file, or set its kind to in-process"
)

# Keys of bodies, and parameters of queries, by path.
_KEYS = {
    ("body", "/v1/policy"): tuple(PolicyUpdate.model_fields),
    ("query", "/v1/decisions"): tuple(DecisionsQuery.model_fields),
    ("body", "/v1/override"): ("seconds", "pool"),
    ("query", "/v1/override"): ("pool",),
    ("query", "/v1/events"): ("limit", "after"),
    ("query", "/v1/requests"): ("limit", "after"),
}
_WANTED = {
    "temperature": "a finite number and not negative",
    "prefill_weight": "a finite number and not negative",
    "pool": "the name of a pool",
    "instance": "the name of a policy instance",
    "limit": f"a whole number from 1 to {MAX_LIMIT}",
    "after": "the number of an event or of a request",
    "seconds": "a number above 0 and at most a week's 604800",
}
_SHOWN_CHARACTERS = 60


def refuse(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a request that is refused."""
    return JSONResponse(Refusal(error=sentence).model_dump(), status, headers)


def refuse_invalid(errors: Sequence[Mapping[str, Any]], path: str) -> JSONResponse:
    """The answer to a body or a query that pydantic or the JSON parser found wrong.

    Args:
        errors: ``RequestValidationError.errors()``; every one of them is told.
        path: What was asked for.
    """
    if any(error["type"] == "json_invalid" for error in errors):
        return refuse(HTTPStatus.BAD_REQUEST, "the body is not valid JSON")
    sentences = dict.fromkeys(_sentence(error, path) for error in errors)
    return refuse(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(sentences))


def _sentence(error: Mapping[str, Any], path: str) -> str:
    place, *inside = error["loc"]
    if not inside:
        example = '{"temperature": 0.7, "pool": "prefill"}'
        if path == "/v1/override":
            example = '{"seconds": 600, "pool": "prefill"}'
        return f"the body must be a JSON object such as {example}"
    name = inside[0]
    if error["type"] == "extra_forbidden":
        what = "key" if place == "body" else "parameter"
        return f"there is no {what} {_shown(name)}, only {', '.join(_KEYS[place, path])}"
    if error["type"] == "missing":
        return f"{name} must be {_WANTED[name]}, and is missing"
    if path in ("/v1/events", "/v1/requests") and name == "limit":
        return f"limit must be a whole number from 1 to 1000, but is {_shown(error['input'])}"
    return f"{name} must be {_WANTED[name]}, but is {_shown(error['input'])}"


def _shown(value: object) -> str:
    """What was sent, as JSON, in ASCII (a lone surrogate could not be answered) and cut short."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
