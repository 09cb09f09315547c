from pathlib import Path

from brim.docsearch import LEARNINGS, instructions, openai_tool, search

folder = Path("features")
folder.mkdir()
(folder / "token-limit.md").write_text(
    "# Token limit\n\nEvery request has a limit of tokens.\n"
)
(folder / "berths.md").write_text("# Berths\n\nA berth has a length and a width.\n")

found = search(folder, ["token", "limit"])
print(found.hits)
print(found.text.splitlines()[0])  # found.text is what a model is given

# The same as a tool, with the text for the system prompt that says when to call it.
tools = [openai_tool(), openai_tool(LEARNINGS)]
print([tool["function"]["name"] for tool in tools], len(instructions()) > 100)
