"""Loads Python files and calls their functions for agent-host: a line of JSON in, a line of JSON out.

    {"id": 1, "op": "load", "file": "/project/tools/x.py"}   -> {"id": 1, "ok": {"tools": [...], "files": [...]}}
    {"id": 2, "op": "call", "file": ..., "tool": "name", "args": {...}} -> {"id": 2, "ok": value}
    anything that fails                                       -> {"id": 2, "error": {"message": ..., "trace": ...}}
    a question of a call                                      -> {"id": 2, "question": {"message": ..., "schema": ...}}
    its answer: {"id": 2, "op": "answer", "value": ...}; without a value the call ends there

Ends when its input does. Needs Python 3.8 and nothing else.
"""

import asyncio
import collections.abc
import dataclasses
import datetime
import enum
import importlib.util
import inspect
import json
import os
import queue
import re
import sys
import threading
import traceback
import types
import typing

sys.dont_write_bytecode = True

# The answers get the output to themselves; what tools print goes to where errors go.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
answering = threading.Lock()

# Requests have the input to themselves: a tool that reads its input finds it at its end.
requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

project = os.path.realpath(sys.argv[1])
modules = {}


def answer(line):
    with answering:
        answers.write(line + "\n")
        answers.flush()


def handle(request):
    number = request["id"]
    current.call = number
    try:
        value = load(request["file"]) if request["op"] == "load" else call(request)
        line = json.dumps({"id": number, "ok": value})
    except BaseException as error:  # SystemExit too: a tool that exits has failed, the others go on.
        line = json.dumps({"id": number, "error": {"message": describe(error), "trace": traceback.format_exc()}})
    finally:
        current.call = None
    answer(line)


def describe(error):
    """The kind and the text of an error, with the place in the project where it arose."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{shorten(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_own(frame.filename)]
    place = f"{shorten(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {error}"


def is_own(path):
    real = os.path.realpath(path)
    return real.startswith(project + os.sep) and f"{os.sep}.venv{os.sep}" not in real


def shorten(path):
    return os.path.relpath(os.path.realpath(path), project) if is_own(path) else path


# Approvals and questions


class RunWaits(BaseException):
    """Ends a call whose question nobody has answered yet. No `except Exception` of a tool catches it."""


current = threading.local()
questions = {}


def ask(message, answer_type=str):
    """Asks the person behind the request. Without an answer the call ends here, and the tool runs again when there is one.

    `answer_type` is a type hint, as of a parameter, or a JSON Schema.
    """
    number = getattr(current, "call", None)
    if number is None:
        raise RuntimeError("ask was called outside of a tool call, or from a thread that the tool started")
    schema = answer_type if isinstance(answer_type, dict) else schema_of(answer_type)
    reply = questions[number] = queue.Queue(maxsize=1)
    answer(json.dumps({"id": number, "question": {"message": message, "schema": schema}}))
    given = reply.get()
    del questions[number]
    if "value" not in given:
        raise RunWaits()
    return given["value"] if isinstance(answer_type, dict) else convert(given["value"], answer_type, "answer")


def needs_approval(function):
    """Decorator of tools whose calls a person has to approve."""
    function.needs_approval = True
    return function


helpers = types.ModuleType("agent_host")
helpers.needs_approval = needs_approval
helpers.ask = ask
sys.modules["agent_host"] = helpers


# Loading


def load(path):
    for folder in (project, os.path.dirname(path)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    name = "agent_host_tools_" + re.sub(r"\W", "_", os.path.relpath(path, project))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    modules[path] = module
    return {"tools": [describe_tool(function) for function in tools_of(module)], "files": own_files()}


def tools_of(module):
    """The public functions that the file itself defines, in their order."""
    return [
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and not name.startswith("_") and value.__module__ == module.__name__
    ]


def own_files():
    paths = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({os.path.realpath(path) for path in paths if path and is_own(path)})


# Describing a function as a tool


def describe_tool(function):
    summary, described = read_docstring(inspect.getdoc(function) or "")
    hints = typing.get_type_hints(function)
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        schema = schema_of(hints.get(name, typing.Any))
        if name in described:
            schema = {**schema, "description": described[name]}
        if parameter.default is parameter.empty:
            required.append(name)
        elif is_plain(parameter.default) and parameter.default is not None:
            schema = {**schema, "default": parameter.default}
        properties[name] = schema
    parameters = {"type": "object", "properties": properties, "required": required}
    return {
        "name": function.__name__,
        "description": summary or function.__name__,
        "parameters": parameters,
        "needs_approval": getattr(function, "needs_approval", False) is True,
    }


def is_plain(value):
    try:
        json.dumps(value)
        return True
    except (TypeError, ValueError):
        return False


SECTION = re.compile(r"^(args|arguments|parameters|returns|raises|yields|examples?|notes?)\s*:?\s*$", re.IGNORECASE)


def read_docstring(text):
    """The first paragraphs, and a description for each parameter: Google, Sphinx and NumPy style."""
    lines = text.splitlines()
    summary, described, section, name = [], {}, None, None
    for line in lines:
        bare = line.strip()
        sphinx = re.match(r":param\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)", bare)
        if sphinx:
            section, name = "args", sphinx.group(1)
            described[name] = sphinx.group(2)
        elif bare.startswith(":"):
            section = "other"
        elif SECTION.match(bare):
            section = SECTION.match(bare).group(1).lower()
        elif section is None:
            summary.append(bare)
        elif section in ("args", "arguments", "parameters") and bare and not set(bare) <= {"-"}:
            item = re.match(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)", bare)
            if section == "parameters" and not line.startswith(" ") and item:
                name = item.group(1)
                described[name] = ""
            elif item and section != "parameters":
                name = item.group(1)
                described[name] = item.group(2)
            elif name:
                described[name] = f"{described[name]} {bare}".strip()
    return " ".join(" ".join(summary).split()), described


PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}
FORMATS = {datetime.datetime: "date-time", datetime.date: "date", datetime.time: "time"}
UNIONS = (typing.Union, getattr(__import__("types"), "UnionType", typing.Union))
SEQUENCES = (list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set)
MAPPINGS = (dict, collections.abc.Mapping)


def schema_of(hint):
    """JSON Schema of a type hint. What is not known allows everything."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in (None, type(None)):
        return {"type": "null"}
    if str(origin) == "<class 'typing.Annotated'>" or hasattr(hint, "__metadata__"):
        return schema_of(arguments[0] if arguments else hint.__origin__)
    if origin in UNIONS:
        return {"anyOf": [schema_of(option) for option in arguments]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in SEQUENCES or hint in (set, frozenset):
        return {"type": "array", **({"items": schema_of(arguments[0])} if arguments else {})}
    if origin is tuple:
        return {"type": "array"}
    if origin in MAPPINGS:
        return {"type": "object", **({"additionalProperties": schema_of(arguments[1])} if arguments else {})}
    if not inspect.isclass(hint):
        return {}
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if hint in FORMATS:
        return {"type": "string", "format": FORMATS[hint]}
    if dataclasses.is_dataclass(hint):
        return schema_of_fields(typing.get_type_hints(hint), [f.name for f in dataclasses.fields(hint) if has_no_default(f)])
    if hasattr(hint, "__total__"):
        return schema_of_fields(typing.get_type_hints(hint), sorted(hint.__required_keys__ if hasattr(hint, "__required_keys__") else []))
    return {"type": PLAIN[hint]} if hint in PLAIN else {}


def has_no_default(field):
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def schema_of_fields(hints, required):
    return {
        "type": "object",
        "properties": {name: schema_of(hint) for name, hint in hints.items()},
        "required": list(required),
    }


# Calling


def call(request):
    function = getattr(modules[request["file"]], request["tool"])
    hints = typing.get_type_hints(function)
    known = inspect.signature(function)
    arguments = {name: convert(value, hints.get(name, typing.Any), name) for name, value in request["args"].items()}
    try:
        known.bind(**arguments)
    except TypeError as error:
        raise TypeError(f"Wrong arguments for '{request['tool']}': {error}.") from None
    result = function(**arguments)
    if inspect.isawaitable(result):
        result = asyncio.run(wait_for(result))
    return to_json(result)


async def wait_for(awaitable):
    return await awaitable


def convert(value, hint, name):
    """A JSON value as the type that the function asks for; models write "5" for 5."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in UNIONS:
        return convert_union(value, arguments, name)
    if origin is typing.Literal:
        if value not in arguments:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, arguments))}, not {value!r}")
        return value
    if origin in SEQUENCES and isinstance(value, list):
        items = [convert(item, arguments[0], f"{name}[{index}]") for index, item in enumerate(value)] if arguments else value
        return set(items) if origin in (set, frozenset, collections.abc.Set) else items
    if origin in MAPPINGS and isinstance(value, dict) and arguments:
        return {key: convert(item, arguments[1], f"{name}.{key}") for key, item in value.items()}
    if not inspect.isclass(hint):
        return value
    return convert_class(value, hint, name)


def convert_union(value, options, name):
    # The option that the value already is comes first: "5" stays a text where a text is allowed.
    for option in options:
        if inspect.isclass(option) and type(value) is option:
            return value
    problems = []
    for option in options:
        try:
            return convert(value, option, name)
        except (TypeError, ValueError) as error:
            problems.append(error)
    raise problems[0]


def convert_class(value, hint, name):
    wrong = ValueError(f"{name} must be {PLAIN.get(hint, hint.__name__)}, not {value!r}")
    if hint is type(None):
        if value is None:
            return None
        raise wrong
    if issubclass(hint, enum.Enum):
        return hint(value)
    if hint in FORMATS:
        return hint.fromisoformat(value.replace("Z", "+00:00") if isinstance(value, str) else value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints = typing.get_type_hints(hint)
        return hint(**{key: convert(item, hints.get(key, typing.Any), f"{name}.{key}") for key, item in value.items()})
    if hint is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        raise wrong
    if hint in (int, float) and (isinstance(value, (int, float, str))) and not isinstance(value, bool):
        try:
            number = float(value) if hint is float or isinstance(value, float) else int(value)
        except ValueError:
            raise wrong from None
        if hint is int and number != int(number):
            raise wrong
        return hint(number)
    if hint in (str, list, dict, int, float) and not isinstance(value, hint):
        raise wrong
    return value


def to_json(value):
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(item) for item in value]
    if hasattr(value, "model_dump"):
        return to_json(value.model_dump())
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    return str(value)


def main():
    for line in requests:
        request = json.loads(line)
        if request["op"] == "load":
            handle(request)  # One after the other: imports are not made for more.
        elif request["op"] == "answer":
            questions[request["id"]].put(request)
        else:
            threading.Thread(target=handle, args=(request,), daemon=True).start()
    os._exit(0)  # Threads that are still at work have nobody to answer.


main()
