from crewai import Agent, Crew, Task

from brim.integrations.crewai import brim_llm

clerk = Agent(
    role="clerk",
    goal="look after the bookings",
    backstory="",
    llm=brim_llm(llm, "gpt-4o", 8_000),
    tools=tools,
)
task = Task(description=request, expected_output="the cause", agent=clerk)
answer = Crew(agents=[clerk], tasks=[task]).kickoff()
