from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from brim.integrations.google_adk import BrimPlugin

agent = LlmAgent(
    name="harbour",
    model=model,
    instruction="You look after the harbour's bookings.",
    tools=tools,
)
app = App(
    name="harbour",
    root_agent=agent,
    plugins=[BrimPlugin("gemini-2.5-flash", budget=8_000)],
)
runner = InMemoryRunner(app=app)
