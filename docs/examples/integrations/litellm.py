import litellm

from brim.integrations.litellm import BrimLogger

litellm.callbacks = [
    BrimLogger(budget=8_000)
]  # without a budget: the window of the deployment


async def ask() -> str:
    answer = await litellm.acompletion(
        "openai/gpt-4o", messages, api_base=url, api_key="any"
    )
    return answer.choices[0].message.content
