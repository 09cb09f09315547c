import tomllib

from brim.content.reshape import Shape, apply

settings = tomllib.loads("""
[shapes.tickets]
tools = ["find_tickets"]
match = ["ticket_id", "requester"]

[shapes.tickets.compact]
fields = { id = "ticket_id", who = "requester.email", lines = ["span.start", "span.end"] }
rest = false
omit_null = true
""")
tickets = Shape.from_dict("tickets", settings["shapes"]["tickets"])
result = [
    {
        "ticket_id": "T-81",
        "requester": {"name": "Mei Tan", "email": "mei@mail.example"},
        "span": {"start": 3, "end": 9},
        "tags": [],
    }
]
print(apply(result, tickets))
