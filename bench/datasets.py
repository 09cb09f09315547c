"""What each table is measured on, and whether rules were tuned on it: this stands below the table in the pages."""

from __future__ import annotations

_ODD_RUNS = "rules were tuned on odd runs only; tuned and untouched halves stand apart"
_MADE_UP = "made up by the benchmark, and known to whoever wrote the rules"
_AGENTS = "tau_airline_gpt4o, livemcp_sonnet4, bfcl_long_context_replay"
_CONTENT = "rules were tuned on the odd half; earlier rules had seen all of it"

# By benchmark, or by benchmark and table where they differ.
DATA = {
    "count/accuracy": "token_vectors: OpenAI's formula was found on them",
    "count/claude": "claude: every tenth document; the tables of tokens were found on all of them",
    "count/speed": "made-up texts; nothing can be tuned on them but speed",
    "count/agreement": "random strings by a seed",
    "count": "token_vectors and claude (tuned on); made-up texts",
    "fit/fill": f"{_AGENTS}, trail_agent_convs and six made-up shapes: the fill was tuned on them",
    "fit/shapes": _MADE_UP,
    "fit/speed": "a made-up chat",
    "fit/memory": "a made-up chat",
    "fit": f"six made-up shapes, {_AGENTS}, trail_agent_convs",
    "compact/json": f"json_tool_outputs: {_CONTENT}",
    "compact/tests": f"test_output_logs: {_CONTENT}",
    "compact/logs": f"loghub_2k: {_CONTENT}",
    "compact/chunks": "coderag_chunks, coderag_queries: the ranking was tuned on odd queries",
    "compact": "json_tool_outputs, test_output_logs, loghub_2k, html_articles, coderag, whole sets: tuned on",
    "content": "outputs captured by scripts/capture-commands and the published sets; the halves stand apart",
    "values": f"{_AGENTS}: {_ODD_RUNS}",
    "meaning": f"{_AGENTS}: {_ODD_RUNS}",
    "chat": _MADE_UP,
    "evidence/questions": f"locomo10_min: {_ODD_RUNS.replace('runs', 'chats')}",
    "evidence/spans": f"qmsum_test: {_ODD_RUNS.replace('runs', 'meetings')}",
    "evidence": "locomo10_min, qmsum_test, beam_100k: whole sets, whose odd halves were tuned on",
    "memory": "mtbench101, tau_airline_gpt4o, aider_chat_history and a made-up tool chat",
    "gateway": "made-up requests",
    "scale": "made-up requests",
    "mcp/tools": "mcp_tool_schemas: tuned on",
    "mcp": "mcp_tool_schemas, livemcp_sonnet4 and this repository: tuned on",
}


def data_of(benchmark: str, table: str) -> str:
    """Example: data_of("chat", "turns") -> "made up by the benchmark, and …" """
    return DATA.get(f"{benchmark}/{table}") or DATA.get(benchmark, "")
