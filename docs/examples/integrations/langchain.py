from langchain.agents import create_agent

from brim.integrations.langchain import BrimMiddleware

agent = create_agent(model, tools, middleware=[BrimMiddleware("gpt-4o", budget=8_000)])
state = agent.invoke({"messages": [("user", request)]}, {"recursion_limit": 100})
