import brim
from brim import Section, prompt

log = "\n".join(
    f"10:{n // 60:02d}:{n % 60:02d} INFO request {n} done in {n % 7} ms"
    for n in range(900)
)
log += "\n10:15:01 ERROR disk full on /var/lib/orders"

sections = [
    Section(
        expand=lambda budget: brim.compact(log, budget).text, name="log", priority=3
    ),
    Section("Why did it stop?"),
]
fitted = prompt.render(sections, model="gpt-4o", budget=300)
print(
    fitted.tokens <= 300, "ERROR disk full on /var/lib/orders" in str(fitted.messages)
)
