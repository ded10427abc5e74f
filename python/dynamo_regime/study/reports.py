"""The report of a finished study, whatever its kind."""

from dynamo_regime.control.checked import ConfigurationError
from dynamo_regime.games.split_report import plan_report
from dynamo_regime.study.grid import grid_report
from dynamo_regime.study.paired import two_policies_report
from dynamo_regime.study.report import Report
from dynamo_regime.study.run_folder import Finished
from dynamo_regime.study.side_by_side import side_by_side_report
from dynamo_regime.study.spike import spike_report
from dynamo_regime.study.sweep import sweep_report


def report_of(finished: Finished) -> Report:
    """What it shows.

    Raises:
        ConfigurationError: No report is known for its kind.
    """
    match finished.kind:
        case "sweep":
            return sweep_report(finished)
        case "grid":
            return grid_report(finished)
        case "spike":
            return spike_report(finished)
        case "replay":
            return side_by_side_report(finished, _title(finished))
        case "compare":
            return two_policies_report(finished, _title(finished))
        case "plan":
            return plan_report(finished)
        case kind:
            raise ConfigurationError(
                f"the study is of the unknown kind {kind!r}: upgrade dynamo-regime"
            )


def _title(finished: Finished) -> str:
    settings = finished.settings
    return f"{settings['workload']} on {settings['cluster']}"
