"""The admin API as a FastAPI application over any router that is a ``PolicyTarget``."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException as RoutingException
from starlette.middleware import Middleware

import dynamo_regime
from dynamo_regime.admin.guard import Guard
from dynamo_regime.admin.refusal import (
    CONTROLLER_PATHS,
    NO_CONTROLLER,
    refuse,
    refuse_invalid,
)
from dynamo_regime.admin.wire import (
    MAX_BODY_BYTES,
    DecisionsQuery,
    Policies,
    PolicyUpdate,
    RecentDecisions,
    Refusal,
)
from dynamo_regime.errors import RegimeError, UnknownPoolError
from dynamo_regime.target import PolicyTarget

if TYPE_CHECKING:
    from dynamo_regime.control.running import Running

_REFUSALS: dict[int, str] = {
    HTTPStatus.BAD_REQUEST: "The body is not JSON.",
    HTTPStatus.NOT_FOUND: "There is no such pool or instance.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: f"The body is larger than {MAX_BODY_BYTES} bytes.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not declared as application/json.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A key is unknown or a value impossible.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The listener has a bug; its log tells more.",
}


def create_app(
    target: PolicyTarget,
    token: str | None,
    controller: "Running | None" = None,
) -> FastAPI:
    """Build the application.

    The handlers run on the event loop one after the other: what they ask of the target takes
    microseconds, and so no request waits for a thread.

    Args:
        target: The router to show and to change.
        token: What callers must send as bearer token; None lets every local caller in.
        controller: What re-tunes the router, and what it shows; None if nothing does.
    """
    caller_refusal = (
        {int(HTTPStatus.FORBIDDEN): "The Host header does not name a loopback address."}
        if token is None
        else {int(HTTPStatus.UNAUTHORIZED): "The token is missing or wrong."}
    )
    app = FastAPI(
        title="dynamo-regime admin API",
        version=dynamo_regime.__version__,
        # The interactive pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=_documented(caller_refusal)
        | _refusals(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.INTERNAL_SERVER_ERROR),
        # For the OpenAPI document only: the guard also covers paths that do not exist.
        dependencies=[] if token is None else [Security(HTTPBearer(auto_error=False))],
        middleware=[Middleware(Guard, token=token)],
    )
    _add_error_handlers(app)
    _add_routes(app, target)
    if controller is not None:
        # Who runs no controller does not pay for its libraries.
        from dynamo_regime.admin.controller import add_controller_routes

        add_controller_routes(app, controller, _require_json, _refusals)
    return app


def _add_routes(app: FastAPI, target: PolicyTarget) -> None:
    @app.get("/v1/policy", summary="The present policy of every pool")
    async def show_policies() -> Policies:
        return Policies(policies=target.policies())

    @app.put(
        "/v1/policy",
        summary="Swap the policy of a pool, of an instance, or of all",
        response_description="The new policy of every pool that changed.",
        dependencies=[Depends(_require_json)],
        responses=_refusals(
            HTTPStatus.BAD_REQUEST,
            HTTPStatus.NOT_FOUND,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            HTTPStatus.UNPROCESSABLE_ENTITY,
        ),
    )
    async def swap_policy(update: PolicyUpdate) -> Policies:
        return Policies(policies=target.swap(**update.model_dump()))

    @app.get(
        "/v1/decisions",
        summary="The latest decisions of all pools, oldest first",
        responses=_refusals(HTTPStatus.UNPROCESSABLE_ENTITY),
    )
    async def show_decisions(query: Annotated[DecisionsQuery, Query()]) -> RecentDecisions:
        return RecentDecisions.from_columns(target.recent_decisions(query.limit))


def _require_json(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "the body must be sent with 'Content-Type: application/json'",
        )


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return refuse_invalid(error.errors(), request.url.path)

    @app.exception_handler(RegimeError)
    async def refused_by_target(_request: Request, error: RegimeError) -> Response:
        unknown = isinstance(error, UnknownPoolError)
        status = HTTPStatus.NOT_FOUND if unknown else HTTPStatus.UNPROCESSABLE_ENTITY
        return refuse(status, str(error))

    @app.exception_handler(RoutingException)
    async def not_served(request: Request, error: RoutingException) -> Response:
        sentence, headers = error.detail, error.headers
        if error.status_code == HTTPStatus.NOT_FOUND and sentence == HTTPStatus.NOT_FOUND.phrase:
            sentence = "there is nothing here: use /v1/policy, /v1/decisions or /openapi.json"
            if request.url.path in CONTROLLER_PATHS:
                sentence = NO_CONTROLLER
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            # The router's own header names the methods of one handler, not of the path.
            methods = app.openapi()["paths"].get(request.url.path, ["get"])
            headers = {"Allow": ", ".join(method.upper() for method in methods)}
            sentence = f"this path does not take {request.method}, only {headers['Allow']}"
        elif error.status_code == HTTPStatus.BAD_REQUEST:
            sentence = "the body is not valid JSON"
        return refuse(error.status_code, sentence, headers)

    @app.exception_handler(Exception)
    async def bug(_request: Request, _error: Exception) -> Response:
        # The server logs the traceback.
        return refuse(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            "the listener failed on this request, which is a bug: its log tells more",
        )


def _refusals(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    return _documented({int(status): _REFUSALS[status] for status in statuses})


def _documented(descriptions: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": Refusal, "description": description}
        for status, description in descriptions.items()
    }
