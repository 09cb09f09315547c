import tomllib

import brim

settings = tomllib.loads("""
[shapes.tickets]
tools = ["find_tickets"]
match = ["ticket_id", "requester"]

[shapes.tickets.compact]
fields = { id = "ticket_id", who = "requester.email" }
rest = false
omit_null = true
""")
tickets = brim.Shape.from_dict("tickets", settings["shapes"]["tickets"])
result = [
    {
        "ticket_id": "T-81",
        "requester": {"name": "Mei Tan", "email": "mei@mail.example"},
        "tags": [],
    }
]
print(brim.reshape(result, tool="find_tickets", shapes=[tickets]))
