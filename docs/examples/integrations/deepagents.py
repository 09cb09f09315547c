from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langgraph.checkpoint.memory import InMemorySaver

from brim.integrations.deepagents import BrimArchive
from brim.integrations.langchain import BrimMiddleware

middleware = BrimMiddleware("gpt-4o", budget=10_000)
files = CompositeBackend(
    default=StateBackend(), routes={"/archive/": BrimArchive(middleware)}
)
agent = create_deep_agent(
    model, tools, middleware=[middleware], backend=files, checkpointer=InMemorySaver()
)
