import {
  BYTES,
  COUNT,
  FLAG,
  FUNCTION,
  type Given,
  JSON_VALUE,
  KEY,
  list,
  matching,
  OBJECT,
  object,
  oneOf,
  optional,
  pick,
  SECONDS,
  SIGNAL,
  TENANT,
  TEXT,
} from '../../given.ts'
import { isObject } from '../../json.ts'

/** A value that can be stored, too: to look for what is no JSON takes time, and only a store minds. */
export function stored(given: Given): Given {
  return (value) => given(value) ?? JSON_VALUE(value)
}

/** Ways in which a call waits, and is answered. */
const KIND = oneOf('client_tool', 'approval', 'question')
const ATTACHMENTS = optional(list(object({ mediaType: TEXT, data: BYTES })))
const CALL = { name: TEXT, arguments: OBJECT }
const OBJECTS = optional(list(OBJECT))

/** Result of a tool, as a client gives it. */
export const TOOL_RESULT = object({ text: TEXT, attachments: ATTACHMENTS, isError: optional(FLAG) })

const MESSAGE = object({
  role: oneOf('system', 'user', 'assistant', 'tool'),
  content: TEXT,
  attachments: ATTACHMENTS,
  reasoning: optional(list(object({ text: TEXT }))),
  toolCalls: optional(list(object({ id: TEXT, ...CALL }))),
  toolCallId: optional(TEXT),
})
const TOOL_MESSAGE = object({ toolCallId: TEXT })

/** Messages of a conversation. */
export const MESSAGES = list(
  (value) => MESSAGE(value) ?? (isObject(value) && value.role === 'tool' ? TOOL_MESSAGE(value) : undefined),
)

const STORED_MESSAGE = object({
  reasoning: optional(JSON_VALUE),
  toolCalls: optional(JSON_VALUE),
  providerMetadata: optional(JSON_VALUE),
  decisions: optional(JSON_VALUE),
})

/** The same, as they can be stored. */
export const STORED_MESSAGES: Given = (value) => MESSAGES(value) ?? list(STORED_MESSAGE)(value)

/** Calls that a run waits for. */
export const PENDING = list(
  object({ callId: TEXT, kind: KIND, ...CALL, within: optional(TEXT), decided: OBJECTS, beside: OBJECTS }),
)

/** Changes of a variant. */
export const CHANGES = stored(list(object({ agent: optional(TEXT), module: TEXT, path: list(KEY) })))

const TOOLS = list(object({ name: TEXT, description: optional(TEXT), parameters: OBJECT }))

/** Part of a turn that is stored with a run. */
export const STORED_FIELDS = {
  instructions: optional(TEXT),
  user: optional(TEXT),
  metadata: optional(stored(OBJECT)),
  traceparent: optional(TEXT),
  input: optional(stored(OBJECT)),
  requestOptions: optional(stored(OBJECT)),
  maxToolCalls: optional(COUNT),
  ttlSeconds: optional(SECONDS),
  clientTools: optional(stored(TOOLS)),
  variant: optional(CHANGES),
}

/** Part of a turn that is of one process. */
const LOCAL_FIELDS = {
  signal: optional(SIGNAL),
  onEvent: optional(FUNCTION),
  overrides: optional(OBJECT),
}

const TURN_FIELDS = {
  ...STORED_FIELDS,
  ...LOCAL_FIELDS,
  metadata: optional(OBJECT),
  input: optional(OBJECT),
  requestOptions: optional(OBJECT),
  clientTools: optional(TOOLS),
  runId: optional(matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'a UUID')),
  tenant: optional(TENANT),
  answers: optional(list(object({ callId: TEXT, kind: KIND }))),
  pending: optional(PENDING),
  answersTo: optional(TEXT),
  conversation: optional(TEXT),
  background: optional(FLAG),
  isTrailLost: optional(FLAG),
  onQuestion: optional(FUNCTION),
}

/** Options of a run that may be stored. */
export const RUN_OPTIONS = object({ ...TURN_FIELDS, ...STORED_FIELDS })

/** Options of a run that goes on in this process. */
export const LOCAL_OPTIONS = object(LOCAL_FIELDS)

/** Returns such options alone: no other part of a turn has an effect beside the one that waits. */
export function localOptions<T extends object>(options: T): T {
  return pick(options, LOCAL_FIELDS)
}

/** Turn of a conversation. */
export const TURN = object({ messages: MESSAGES, ...TURN_FIELDS })
