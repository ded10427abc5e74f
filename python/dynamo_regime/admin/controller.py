"""The controller's part of the admin API; it is there only where a controller runs."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response

from dynamo_regime.admin.controller_wire import (
    ControllerView,
    Events,
    EventsQuery,
    FinishedRequestsPage,
    OverrideQuery,
    OverrideRequest,
    RequestsQuery,
)
from dynamo_regime.admin.refusal import NO_REQUESTS
from dynamo_regime.control.events import json_line
from dynamo_regime.control.metrics import CONTENT_TYPE
from dynamo_regime.control.running import Running

Refusals = Callable[..., dict[int | str, dict[str, Any]]]


def add_controller_routes(
    app: FastAPI,
    running: Running,
    require_json: Callable[[Request], None],
    refusals: Refusals,
) -> None:
    """Mount them.

    Args:
        app: The admin API.
        running: The controller to show and to take pools from, its metrics, and the requests.
        require_json: Refuses a body of another media type.
        refusals: Documents statuses that refuse.
    """
    live = running.live

    def view() -> ControllerView:
        return ControllerView.of(live.state(), live.target.policies())

    @app.get("/v1/controller", summary="How the controller stands")
    async def show_controller() -> ControllerView:
        return view()

    @app.get(
        "/v1/events",
        summary="The controller's latest events, oldest first",
        responses=refusals(HTTPStatus.UNPROCESSABLE_ENTITY),
    )
    async def show_events(query: Annotated[EventsQuery, Query()]) -> Events:
        events = live.events.after(query.after)[-query.limit :]
        offset = live.unix_offset_seconds
        return Events(events=[_event(json_line(each, offset)) for each in events])

    @app.get(
        "/v1/requests",
        summary="The latest finished requests, in the form of Dynamo's request trace",
        responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY),
    )
    def show_requests(query: Annotated[RequestsQuery, Query()]) -> FinishedRequestsPage:
        if running.finished is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, NO_REQUESTS)
        return FinishedRequestsPage.of(running.finished.page(query.limit, query.after))

    # These wait for the controller if its thread is at work, hence outside of the event loop.
    @app.put(
        "/v1/override",
        summary="Leave a pool, or all of them, to a person for a while",
        dependencies=[Depends(require_json)],
        responses=refusals(
            HTTPStatus.BAD_REQUEST,
            HTTPStatus.NOT_FOUND,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            HTTPStatus.UNPROCESSABLE_ENTITY,
        ),
    )
    def put_override(override: OverrideRequest) -> ControllerView:
        live.override(override.seconds, override.pool)
        return view()

    @app.delete(
        "/v1/override",
        summary="Give a pool, or all of them, back to the controller",
        responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY),
    )
    def delete_override(query: Annotated[OverrideQuery, Query()]) -> ControllerView:
        live.release(query.pool)
        return view()

    @app.get("/metrics", summary="The controller's metrics, as OpenMetrics text")
    async def show_metrics() -> Response:
        return Response(running.metrics.page(), headers={"content-type": CONTENT_TYPE})


def _event(line: str) -> dict[str, Any]:
    event: Mapping[str, Any] = json.loads(line)
    return dict(event)
