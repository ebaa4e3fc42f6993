"""TensorBoard's plugins for the board: two that return many points fast, and two that cannot work here."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from tensorboard import default, errors, plugin_util
from tensorboard.backend import http_util, json_util
from tensorboard.plugins import base_plugin
from tensorboard.plugins.debugger_v2.debugger_v2_plugin import DebuggerV2Plugin
from tensorboard.plugins.metrics.metrics_plugin import MetricsPlugin
from tensorboard.plugins.profile_redirect.profile_redirect_plugin import ProfileRedirectPluginLoader
from tensorboard.plugins.scalar.scalars_plugin import OutputFormat, ScalarsPlugin
from werkzeug import exceptions, wrappers

from tbq.compat.provider.requests import Request
from tbq.tensorboard.points import Form, points_json


def _route(method: Callable[[Any, Any], Any]) -> Any:
    """Make a WSGI application of a method that takes a request."""
    application: Any = wrappers.Request.application
    return application(method)


class FastScalars(ScalarsPlugin):  # type: ignore[misc]
    """The scalars dashboard, without an object for every point."""

    def get_plugin_apps(self) -> dict[str, Any]:
        """The same routes."""
        return {
            **super().get_plugin_apps(),
            "/scalars": self._one_run,
            "/scalars_multirun": self._several_runs,
        }

    @_route
    def _one_run(self, request: Any) -> Any:
        tag, run = request.args.get("tag"), request.args.get("run")
        if tag is None or run is None or request.args.get("format") == OutputFormat.CSV:
            return self.scalars_route
        answer = _series_json(self._data_provider, tag, [run], self._downsample_to, "list")
        if run not in answer:
            raise errors.NotFoundError(f"No scalar data for run={run!r}, tag={tag!r}")
        return http_util.Respond(request, answer[run], "application/json")

    @_route
    def _several_runs(self, request: Any) -> Any:
        if request.method != "POST":
            raise exceptions.MethodNotAllowed(["POST"])
        tags = request.form.getlist("tag")
        if len(tags) != 1:
            raise errors.InvalidArgumentError("tag must be specified exactly once")
        runs = request.form.getlist("runs")
        answer = _series_json(self._data_provider, tags[0], runs, self._downsample_to, "list")
        return http_util.Respond(request, _object(answer), "application/json")


class FastMetrics(MetricsPlugin):  # type: ignore[misc]
    """The time series dashboard, without an object for every point."""

    def get_plugin_apps(self) -> dict[str, Any]:
        """The same routes."""
        return {**super().get_plugin_apps(), "/timeSeries": self._time_series}

    @_route
    def _time_series(self, request: Any) -> Any:
        text = request.form.get("requests") if request.method == "POST" else request.args.get("requests")
        if not text:
            raise errors.InvalidArgumentError("Missing 'requests' field")
        try:
            wanted = json.loads(text)
        except ValueError:
            raise errors.InvalidArgumentError("Unable to parse 'requests' as JSON") from None
        if not isinstance(wanted, list) or not all(isinstance(each, dict) for each in wanted):
            raise errors.InvalidArgumentError("'requests' is not a list of objects")
        ctx = plugin_util.context(request.environ)
        experiment = plugin_util.experiment_id(request.environ)
        answers = [self._answer(ctx, experiment, each) for each in wanted]
        return http_util.Respond(request, b"[" + b",".join(answers) + b"]", "application/json")

    def _answer(self, ctx: Any, experiment: str, wanted: dict[str, Any]) -> bytes:
        if wanted.get("plugin") != "scalars" or self._get_invalid_request_error(wanted):
            answer = self._get_time_series(ctx, experiment, wanted)
            return json.dumps(json_util.Cleanse(answer)).encode()
        run = wanted.get("run")
        most = self._plugin_downsampling["scalars"]
        points = _series_json(self._data_provider, wanted["tag"], [run] if run else None, most, "object")
        head = json.dumps(self._create_base_response(wanted)).encode()
        return head[:-1] + b', "runToSeries": ' + _object(points) + b"}"


def _series_json(data: Any, tag: str, runs: list[str] | None, most: int, form: Form) -> dict[str, bytes]:
    wanted = Request("", "scalars", None if runs is None else frozenset(runs), frozenset([tag]))
    return {run: points_json(points, form) for run, _, points in data.points(wanted, most)}


def _object(members: dict[str, bytes]) -> bytes:
    return b"{" + b",".join(json.dumps(name).encode() + b":" + text for name, text in members.items()) + b"}"


_PAGE = """export async function render() {{
  const box = document.createElement("div");
  box.style = "font: 16px Roboto, sans-serif; max-width: 40em; margin: 4em auto; line-height: 1.5";
  box.textContent = {text};
  document.body.appendChild(box);
}}
"""


class Refused(base_plugin.TBPlugin):  # type: ignore[misc]
    """Replaces a plugin that reads its own files, which tbq does not support."""

    plugin_name = ""
    tab_name = ""
    text = ""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._logdir = context.logdir

    def get_plugin_apps(self) -> dict[str, Any]:
        """The page."""
        return {"/index.js": self._serve_page}

    def is_active(self) -> bool:
        """Whether the plugin has data, so that its tab must explain why it shows nothing."""
        return bool(self._logdir) and self.has_data(Path(self._logdir).expanduser())

    def has_data(self, logdir: Path) -> bool:
        """Whether the plugin has data in this directory."""
        raise NotImplementedError

    def frontend_metadata(self) -> Any:
        """The tab."""
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name=self.tab_name)

    @_route
    def _serve_page(self, request: Any) -> Any:
        text = f"{self.text} It needs plain TensorBoard: tensorboard --logdir {self._logdir}"
        page = _PAGE.format(text=json.dumps(text))
        return http_util.Respond(request, page, "text/javascript")


class Profile(Refused):
    """The profile plugin."""

    plugin_name = "profile"
    tab_name = "Profile"
    text = "tbq board does not show profiles: the profile plugin reads its own files."

    def has_data(self, logdir: Path) -> bool:
        """Profiles are in plugins/profile, in the log directory or in that of a run."""
        try:
            folders = [logdir, *(entry for entry in logdir.iterdir() if entry.is_dir())]
        except OSError:
            return False
        return any((folder / "plugins" / "profile").is_dir() for folder in folders)


class Debugger(Refused):
    """The debugger plugin."""

    plugin_name = "debugger-v2"
    tab_name = "Debugger V2"
    text = "tbq board does not show debugger dumps: the debugger plugin reads its own files."

    def get_plugin_apps(self) -> dict[str, Any]:
        """Answer for the runs of this plugin: TensorBoard's page asks by name, whatever the plugin says of itself."""
        return {**super().get_plugin_apps(), "/runs": self._serve_no_runs}

    @_route
    def _serve_no_runs(self, request: Any) -> Any:
        return http_util.Respond(request, {}, "application/json")

    def has_data(self, logdir: Path) -> bool:
        """Dumps are beside the event files of the log directory."""
        try:
            return any(entry.name.startswith("tfdbg_events") for entry in logdir.iterdir())
        except OSError:
            return False


_INSTEAD = {
    ScalarsPlugin: FastScalars,
    MetricsPlugin: FastMetrics,
    DebuggerV2Plugin: Debugger,
    ProfileRedirectPluginLoader: Profile,
}


def plugins() -> list[Any]:
    """All plugins of TensorBoard, and those installed beside it."""
    static = [
        _INSTEAD.get(each, each) if isinstance(each, type) else each for each in default.get_static_plugins()
    ]
    others = [
        entry.load()
        for entry in metadata.entry_points(group="tensorboard_plugins")
        if "profile" not in entry.name
    ]
    return [*static, *others]
