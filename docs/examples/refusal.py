import brim

messages = [
    {"role": "system", "content": "Rule: be exact. " * 300},
    {"role": "user", "content": "What is the rule?"},
]
try:
    brim.fit(messages, model="gpt-4o", budget=1_000)
except brim.BudgetTooSmall as refusal:
    print(refusal.needed > refusal.budget, refusal.must_stay[0])
