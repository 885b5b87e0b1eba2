"""Calls every kind of tool with the official client. `openai.py <url> call <file>` makes the calls, created and streamed, and writes them to
a file; `answer` sends their outputs and prints the answers; `chat` makes a round trip of each kind in chat completions; `keep` keeps a
conversation with signed thinking itself, for eight rounds."""

import json
import sys

from openai import OpenAI

url, phase, *rest = sys.argv[1:]
client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
find = {"type": "function", "name": "find", "description": "Finds.", "parameters": parameters, "strict": False}
regex = {"type": "grammar", "syntax": "regex", "definition": "[a-z]+\\d+"}
lark = {"type": "grammar", "syntax": "lark", "definition": "start: /[a-z0-9]+/"}
# By the name that the model knows.
TOOLS = {
    "find": find,
    "note": {"type": "custom", "name": "note", "description": "Takes a text."},
    "code": {"type": "custom", "name": "code", "description": "Takes a code.", "format": regex},
    "query": {"type": "custom", "name": "query", "description": "Takes a query.", "format": lark},
    "crm__find": {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [find]},
}
# Tools that have no effect here.
HOSTED = [
    {"type": "web_search"},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "computer"},
    {"type": "image_generation"},
    {"type": "local_shell"},
    {"type": "shell"},
    {"type": "apply_patch"},
    {"type": "mcp", "server_label": "far", "server_url": "https://mcp.example.test"},
    {"type": "tool_search"},
    {"type": "programmatic_tool_calling"},
]
CHAT_TOOLS = {
    "find": {"type": "function", "function": {"name": "find", "parameters": parameters}},
    "note": {"type": "custom", "custom": {"name": "note"}},
    "code": {"type": "custom", "custom": {"name": "code", "format": {"type": "grammar", "grammar": regex}}},
}


def respond(is_streamed, **body):
    if not is_streamed:
        return client.responses.create(**body)
    with client.responses.stream(**body) as stream:
        return stream.get_final_response()


def call():
    calls = []
    for name, tool in TOOLS.items():
        for is_streamed in (False, True):
            response = respond(is_streamed, model="caller", input=name, tools=[tool, *HOSTED])
            made = response.output[-1].model_dump(mode="json")
            calls.append({"id": response.id, "call": made, "is_streamed": is_streamed})
    with open(rest[0], "w") as file:
        json.dump(calls, file)


def answer():
    with open(rest[0]) as file:
        calls = json.load(file)
    for entry in calls:
        made = entry["call"]
        text = f"{made['name']} of {made.get('namespace') or 'none'}"
        output = {"type": f"{made['type']}_output", "call_id": made["call_id"], "output": text}
        response = respond(
            entry["is_streamed"],
            model="caller",
            previous_response_id=entry["id"],
            input=[output],
            tools=list(TOOLS.values()),
        )
        print(made["type"], made.get("input") or made.get("arguments"), response.output_text)


def chat():
    for name, tool in CHAT_TOOLS.items():
        for is_streamed in (False, True):
            messages = [{"role": "user", "content": name}]
            message = complete(is_streamed, model="caller", messages=messages, tools=[tool])
            made = message["tool_calls"][0]
            details = made[made["type"]]
            messages += [message, {"role": "tool", "tool_call_id": made["id"], "content": f"{details['name']} done"}]
            last = complete(is_streamed, model="caller", messages=messages, tools=[tool])
            print(made["type"], details.get("input") or details.get("arguments"), last["content"])


def complete(is_streamed, **body):
    if not is_streamed:
        return client.chat.completions.create(**body).choices[0].message.model_dump(mode="json", exclude_none=True)
    # The helper of the client cannot accumulate calls of custom tools.
    message = {"role": "assistant", "content": ""}
    for chunk in client.chat.completions.create(**body, stream=True):
        delta = chunk.choices[0].delta.model_dump(mode="json", exclude_none=True) if chunk.choices else {}
        message["content"] += delta.get("content", "")
        if "tool_calls" in delta:
            message["tool_calls"] = [{k: v for k, v in made.items() if k != "index"} for made in delta["tool_calls"]]
    return message


def keep():
    items = [{"role": "user", "content": "Go."}]
    step = {"type": "function", "name": "step", "parameters": {"type": "object", "properties": {}}, "strict": False}
    for round in range(9):
        response = respond(
            round % 2 == 1,
            model="keeper",
            input=items,
            tools=[step],
            store=False,
            include=["reasoning.encrypted_content"],
            reasoning={"effort": "low"},
        )
        items += [item.model_dump(mode="json", exclude_none=True) for item in response.output]
        for item in response.output:
            if item.type == "function_call":
                items.append({"type": "function_call_output", "call_id": item.call_id, "output": "ok"})
        if response.output_text:
            print(f"round {round}: {response.output_text}")


{"call": call, "answer": answer, "chat": chat, "keep": keep}[phase]()
