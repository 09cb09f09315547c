from agents import Agent, RunConfig, Runner

from brim.integrations.openai_agents import BrimInputFilter

agent = Agent("harbour", model=model, tools=tools)
config = RunConfig(call_model_input_filter=BrimInputFilter("gpt-4o", budget=8_000))
result = Runner.run_sync(agent, request, run_config=config, max_turns=100)
