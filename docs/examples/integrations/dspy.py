from brim.integrations.dspy import BrimReAct

agent = BrimReAct(
    "request -> answer", tools=tools, max_iters=50, model="gpt-4o", budget=8_000
)
answer = agent(request=request).answer
