"""TensorBoard's own program, with tbq's data provider in its process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import absl.logging
from tensorboard import manager, program
from tensorboard.backend.event_processing import data_ingester
from tensorboard.data import ingester
from tensorboard.plugins import base_plugin
from tensorboard.plugins.core import core_plugin

from tbq.compat.data_provider import ALL, DataProvider
from tbq.errors import TbqError, UsageError
from tbq.following.follower import REMOTE_INTERVAL
from tbq.source.discover import any_remote, sources
from tbq.source.urls import is_remote, local_path, refuse_remote
from tbq.tensorboard.assets import LazyAssets
from tbq.tensorboard.plugins import plugins
from tbq.text import without_secrets

#: Seconds between two polls for new data; TensorBoard's default is 5.
RELOAD_INTERVAL = 0.5
# The page gets all of these, unless --samples_per_plugin says otherwise; TensorBoard sends ten.
_EVERY = {"images": ALL, "audio": ALL}


class CoreLoader(core_plugin.CorePluginLoader):  # type: ignore[misc]
    """TensorBoard's flags, and its page."""

    def define_flags(self, parser: Any) -> None:
        """Accept the log directory also without a flag."""
        super().define_flags(parser)
        parser.add_argument("LOGDIR", nargs="?", default="", help="The same as --logdir.")
        parser.set_defaults(reload_interval=RELOAD_INTERVAL)
        parser.prog = "tbq board"

    def fix_flags(self, flags: Any) -> None:
        """Convert flags to TensorBoard's form."""
        if flags.LOGDIR:
            if flags.logdir or flags.logdir_spec:
                raise base_plugin.FlagsError("May not specify both LOGDIR and --logdir or --logdir_spec")
            flags.logdir = flags.LOGDIR
        for name in ("db", "grpc_data_provider"):
            if getattr(flags, name, ""):
                raise base_plugin.FlagsError(f"--{name} is not supported by tbq board; use plain tensorboard")
        super().fix_flags(flags)
        samples = {name: count or ALL for name, count in flags.samples_per_plugin.items()}
        for name, count in samples.items():
            if count < 0:
                raise base_plugin.FlagsError(
                    f"--samples_per_plugin: got {name}={count}, want 0 (all) or more"
                )
        flags.samples_per_plugin = {**_EVERY, **samples}

    def load(self, context: Any) -> Any:
        """Load the plugin; files of the page are unpacked on demand."""
        plugin = super().load(context)
        if context.assets_zip_provider:
            plugin.get_resource_apps = LazyAssets(plugin, context.assets_zip_provider, core_plugin._gzip)
        return plugin


class Ingester(ingester.DataIngester):  # type: ignore[misc]
    """Keeps the provider up to date."""

    def __init__(self, flags: Any) -> None:
        source = flags.logdir or _named(flags.logdir_spec)
        for _, path in sources(source):
            if not is_remote(path):
                refuse_remote(local_path(path))
        if flags.reload_interval == RELOAD_INTERVAL and any_remote(source):
            flags.reload_interval = REMOTE_INTERVAL
        self._provider = DataProvider(
            source,
            restarts="tensorboard" if flags.purge_orphaned_data else "keep",
            reload_interval=flags.reload_interval,
            name=without_secrets(flags.logdir or flags.logdir_spec),
        )
        self._interval = flags.reload_interval
        self._blocking = flags.reload_task == "blocking"
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def data_provider(self) -> DataProvider:
        """The provider."""
        return self._provider

    def start(self) -> None:
        """Read the existing data, and keep reading, in a separate thread."""
        if self._blocking:
            if self._interval != 0:
                raise ValueError("blocking reload only allowed with load_interval=0")
            self._provider.reload()
            return
        self._thread = threading.Thread(target=self._reload, name="Reloader", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading: if Python ends while a thread is in the core, the process aborts."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _reload(self) -> None:
        reported = ""
        while not self._stop.is_set():
            try:
                self._provider.reload()
                reported = ""
            except Exception as failure:  # any failure: the next poll may succeed
                if str(failure) != reported:
                    reported = str(failure)
                    program.logger.error("%s", reported, exc_info=not isinstance(failure, TbqError))
            if self._interval == 0:
                return
            self._stop.wait(max(self._interval, self._provider.pause()))


class Board(program.TensorBoard):  # type: ignore[misc]
    """TensorBoard's program with tbq's provider."""

    ingester: Ingester | None = None

    def _make_data_ingester(self) -> Ingester:
        self.ingester = Ingester(self.flags)
        self.ingester.start()
        return self.ingester


def _named(spec: str) -> Any:
    """`--logdir_spec` as `tbq.open` accepts it: {name: path}, or paths."""
    pairs = data_ingester._parse_event_files_spec(spec)
    named = {name: path for path, name in pairs.items() if name is not None}
    if named and len(named) < len(pairs):
        named |= {Path(path).name: path for path, name in pairs.items() if name is None}
    if named and len(named) < len(pairs):
        raise base_plugin.FlagsError("--logdir_spec: two paths have the same name")
    return named or list(pairs)


def execute(args: Sequence[str]) -> int:
    """Run with these flags; returns the exit code."""
    absl.logging.set_verbosity(absl.logging.WARNING)
    absl.logging.use_absl_handler()
    loaders = [
        CoreLoader(include_debug_info=True) if isinstance(each, core_plugin.CorePluginLoader) else each
        for each in plugins()
    ]
    tensorboard = Board(plugins=loaders)
    rest = list(args[1:]) if args and args[0] == "serve" else list(args)
    try:
        tensorboard.configure(["", "serve", *rest])
        # Use the key of TensorBoard's own command line, by which %tensorboard finds running instances.
        tensorboard.cache_key = manager.cache_key(
            working_directory=str(Path.cwd()), arguments=list(args), configure_kwargs={}
        )
        return int(tensorboard.main())
    except base_plugin.FlagsError as wrong:
        raise UsageError(str(wrong), hint="see: tbq board --help") from None
    except SystemExit as stop:  # raised by a signal, or for invalid flags
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:
        return 0
    finally:
        if tensorboard.ingester is not None:
            tensorboard.ingester.stop()
