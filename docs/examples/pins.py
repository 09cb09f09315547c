import brim

session = brim.Session(model="gpt-4o", budget=1_000)
session.say(brim.pin("The surveyor's offer is 4,250 EUR, valid until 3 May."))
session.record("Noted.")

# Sixty turns later it is still there, word for word.
for turn in range(60):
    fitted = session.say(f"Turn {turn}: " + "what does the weather do? " * 5)
    session.record("It stays calm. " * 10)
print(session.compactions > 5, "4,250 EUR, valid until 3 May" in str(fitted.messages))
