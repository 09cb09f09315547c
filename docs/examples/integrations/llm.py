import llm

model = llm.get_model(
    f"brim/{model_name}"
)  # llm install brim: every model once more, with brim/ before its name
answer = model.conversation().chain(request, tools=tools, chain_limit=0).text()
