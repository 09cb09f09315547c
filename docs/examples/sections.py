from brim import prompt
from brim.prompt import Budget, Section

NOTES = ["Ada prefers e-mail.", "The invoice 4417 is open.", "The office moved in May."]
ARTICLES = [
    f"Article {n}: how to pay an invoice from abroad, in five steps with a picture. "
    for n in range(500)
]


def articles(budget: Budget) -> str:
    """As many articles as there is room for."""
    shown = ""
    for article in ARTICLES:
        if budget.count(shown + article) > budget:
            break
        shown += article
    return shown


sections = [
    Section(
        "You are a clerk. Answer in one sentence.", role="system", cache_breakpoint=True
    ),
    Section(
        role="user",
        children=[
            Section("Notes:", keep_with="notes"),
            Section("\n".join(NOTES), name="notes", priority=5, break_on="\n"),
            Section("Articles:", keep_with="articles"),
            Section(expand=articles, name="articles", priority=1),
            Section("How does Ada pay 4417 from Oslo?", name="question"),
        ],
    ),
]
fitted = prompt.render(sections, model="claude-sonnet-4-5", budget=1_000)
print(fitted.report)
for decision in fitted.plan:
    print(f"{decision.item:24} {decision.after:4} tokens  {decision.reason}")

# The same prompt at another budget.
print([decision.item for decision in fitted.at(60).plan if decision.after])
