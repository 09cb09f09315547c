from brim.integrations.llama_index import (
    BrimAgent,
    BrimMemory,
    LlamaIndexCodec,
    MessageFitter,
)

agent = BrimAgent(
    llm=llm, tools=tools, brim=MessageFitter(LlamaIndexCodec(), "gpt-4o", 8_000)
)
memory = BrimMemory.from_defaults("gpt-4o", budget=7_000)


async def ask(question):
    return await agent.run(question, memory=memory, max_iterations=100)
