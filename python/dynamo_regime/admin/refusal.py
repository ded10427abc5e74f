"""One sentence for each way in which a request can be wrong."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from dynamo_regime.admin.wire import MAX_LIMIT, DecisionsQuery, PolicyUpdate, Refusal

_WANTED = {
    "temperature": "a finite number and not negative",
    "prefill_weight": "a finite number and not negative",
    "pool": "the name of a pool",
    "instance": "the name of a policy instance",
    "limit": f"a whole number from 1 to {MAX_LIMIT}",
}
_SHOWN_CHARACTERS = 60


def refuse(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a request that is refused."""
    return JSONResponse(Refusal(error=sentence).model_dump(), status, headers)


def refuse_invalid(errors: Sequence[Mapping[str, Any]]) -> JSONResponse:
    """The answer to a body or a query that pydantic or the JSON parser found wrong.

    Args:
        errors: ``RequestValidationError.errors()``; every one of them is told.
    """
    if any(error["type"] == "json_invalid" for error in errors):
        return refuse(HTTPStatus.BAD_REQUEST, "the body is not valid JSON")
    sentences = dict.fromkeys(_sentence(error) for error in errors)
    return refuse(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(sentences))


def _sentence(error: Mapping[str, Any]) -> str:
    place, *path = error["loc"]
    if not path:
        return 'the body must be a JSON object such as {"temperature": 0.7, "pool": "prefill"}'
    name = path[0]
    if error["type"] == "extra_forbidden":
        what, model = ("key", PolicyUpdate) if place == "body" else ("parameter", DecisionsQuery)
        return f"there is no {what} {_shown(name)}, only {', '.join(model.model_fields)}"
    return f"{name} must be {_WANTED[name]}, but is {_shown(error['input'])}"


def _shown(value: object) -> str:
    """What was sent, as JSON, in ASCII (a lone surrogate could not be answered) and cut short."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
