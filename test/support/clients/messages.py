"""An answer, a round of a tool, each created and streamed, a count, the models and an error with Anthropic's client. `messages.py <url>`"""

import sys

import anthropic

client = anthropic.Anthropic(base_url=f"{sys.argv[1]}/anthropic", api_key="none", max_retries=0)
tools = [{"name": "find", "description": "Finds.", "input_schema": {"type": "object"}}]


def ask(is_streamed, messages):
    body = {"model": "example", "max_tokens": 99, "messages": messages, "tools": tools}
    if not is_streamed:
        return client.messages.create(**body)
    with client.messages.stream(**body) as stream:
        return stream.get_final_message()


for is_streamed in (False, True):
    print(ask(is_streamed, [{"role": "user", "content": "turn one"}]).content[0].text)
    question = {"role": "user", "content": '{"call":"find","city":"Lima"}'}
    content = ask(is_streamed, [question]).content
    result = {"type": "tool_result", "tool_use_id": content[0].id, "content": f"found {content[0].input['city']}"}
    answers = [question, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    print(ask(is_streamed, answers).content[0].text)
counted = client.messages.count_tokens(model="example", messages=[{"role": "user", "content": "turn one"}])
print("counts", str(counted.input_tokens > 0).lower())
for model in client.models.list():
    print("model", model.id)
try:
    client.messages.create(model="nobody", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
except anthropic.NotFoundError as error:
    print("true", error.body["error"]["type"])
