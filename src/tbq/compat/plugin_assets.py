"""Files that plugins put beside event files, below `plugins/`."""

from __future__ import annotations

import os


def list_assets(logdir: str, plugin_name: str) -> list[str]:
    """The names of a plugin's files; empty if the plugin has no folder."""
    try:
        return os.listdir(os.path.join(logdir, "plugins", plugin_name))
    except OSError:
        return []


def retrieve_asset(logdir: str, plugin_name: str, asset_name: str) -> str:
    """The text of a plugin's file."""
    path = os.path.join(logdir, "plugins", plugin_name, asset_name)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        raise KeyError(f"Asset path {path} not found") from None
    except (OSError, UnicodeError) as failure:
        raise KeyError(f"Couldn't read asset path: {path}, OpError {failure}") from failure
