import brim

messages = [{"role": "user", "content": "What is the berth fee for ten metres?"}]
tariff = "\n".join(
    f"{metres} m: {metres * 3.5:.2f} EUR a night" for metres in range(1, 400)
)

fitted = brim.fit(
    messages,
    model="gpt-4o",
    budget=600,
    context=[brim.Attachment(tariff, source="tariff.txt", type="file")],
)
print(fitted.tokens <= 600, "10 m: 35.00 EUR" in str(fitted.messages))
