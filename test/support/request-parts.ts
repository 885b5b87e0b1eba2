import type {
  ResponseCreateParams,
  ResponseIncludable,
  ResponseInputItem,
  Tool,
} from 'openai/resources/responses/responses'

/** Effect of a part of a request: it has its effect here, is given to the model, is ignored, or refused with 400 under `/v1`. */
export type Effect = 'honoured' | 'given to the model' | 'ignored' | 'refused'

/** Treatment of one member of the vendor's request types, and its reason: what the docs tell about the code's `EFFECTIVE`. */
export interface Treatment {
  readonly effect: Effect
  readonly note: string
}

/** Every member has one; so may those of a later client. */
type Treatments<Member extends string> = Readonly<Record<Member, Treatment>> & Readonly<Record<string, Treatment>>

const honoured = (note: string): Treatment => ({ effect: 'honoured', note })
const given = (note: string): Treatment => ({ effect: 'given to the model', note })
const ignored = (note: string): Treatment => ({ effect: 'ignored', note })
const refused = (note: string): Treatment => ({ effect: 'refused', note })

const HOSTED = ignored('A hosted tool: give the agent a tool of its own.')
const CALL_OF_HOSTED = ignored('Part of a call of a hosted tool.')
const NO_HOSTED_OUTPUT = ignored('There is no hosted tool whose output it would add.')
const PROGRAM = ignored('The model calls tools one by one; programs are not run.')
const BY_OPENAI = given('By `llm/openai`; other models leave it out, with a line in the log.')
const SAMPLING = given('Unless the config of the agent sets it.')

/** Tools, by type. */
export const TOOLS = {
  function: given('The client runs it.'),
  custom: given('As a function with the one argument `input`; the client runs it.'),
  namespace: given('As functions whose names begin with that of the namespace.'),
  tool_search: ignored('All tools are given to the model at once.'),
  mcp: ignored('Connect the server to the agent with `tools/mcp`.'),
  apply_patch: HOSTED,
  code_interpreter: HOSTED,
  computer: HOSTED,
  computer_use_preview: HOSTED,
  file_search: HOSTED,
  image_generation: HOSTED,
  local_shell: HOSTED,
  shell: HOSTED,
  web_search: HOSTED,
  web_search_2025_08_26: HOSTED,
  web_search_preview: HOSTED,
  web_search_preview_2025_03_11: HOSTED,
  programmatic_tool_calling: PROGRAM,
} satisfies Treatments<Tool['type']>

/** Items of the input, by type. */
export const INPUT_ITEMS = {
  message: given('Its `phase` reaches `llm/openai`.'),
  function_call: given('As a call of the conversation.'),
  function_call_output: given('As the result of its call.'),
  mcp_call: given('As a call of the conversation, with its result.'),
  image_generation_call: given('As an image of the answer before it.'),
  compaction: given('As a summary of what stands before it.'),
  item_reference: honoured('Stands for a stored item; an unknown one is left out.'),
  mcp_approval_response: honoured('Decides the call that waits.'),
  mcp_approval_request: ignored('The stored call decides.'),
  mcp_list_tools: ignored('The agent lists the tools of its servers itself.'),
  reasoning: given('Its `encrypted_content`; an item without it is ignored.'),
  custom_tool_call: given('As a call of the conversation.'),
  custom_tool_call_output: given('As the result of its call.'),
  additional_tools: given('Its tools are offered in this turn and in later ones.'),
  compaction_trigger: honoured('As the last item: the answer is a summary of the conversation.'),
  configuration_update: ignored('Send `reasoning` and `text` with the request.'),
  tool_search_call: ignored('All tools are given to the model at once.'),
  tool_search_output: ignored('All tools are given to the model at once.'),
  apply_patch_call: CALL_OF_HOSTED,
  apply_patch_call_output: CALL_OF_HOSTED,
  code_interpreter_call: CALL_OF_HOSTED,
  computer_call: CALL_OF_HOSTED,
  computer_call_output: CALL_OF_HOSTED,
  file_search_call: CALL_OF_HOSTED,
  local_shell_call: CALL_OF_HOSTED,
  local_shell_call_output: CALL_OF_HOSTED,
  shell_call: CALL_OF_HOSTED,
  shell_call_output: CALL_OF_HOSTED,
  web_search_call: CALL_OF_HOSTED,
  program: PROGRAM,
  program_output: PROGRAM,
} satisfies Treatments<NonNullable<ResponseInputItem['type']>>

/** Values of `include`. */
export const INCLUDES = {
  'reasoning.encrypted_content': honoured('Seals the data of the reasoning for the client.'),
  'message.input_image.image_url': ignored('Stored input items have the images that were sent.'),
  'message.output_text.logprobs': ignored('Models report no log probabilities.'),
  'code_interpreter_call.outputs': NO_HOSTED_OUTPUT,
  'computer_call_output.output.image_url': NO_HOSTED_OUTPUT,
  'file_search_call.results': NO_HOSTED_OUTPUT,
  'web_search_call.action.sources': NO_HOSTED_OUTPUT,
  'web_search_call.results': NO_HOSTED_OUTPUT,
  'agent.tool_calls': honoured("Shows the agent's own calls as `mcp_call` items."),
} satisfies Treatments<ResponseIncludable | 'agent.tool_calls'>

/** Fields of a request. */
export const FIELDS = {
  background: honoured('Runs without the client.'),
  conversation: honoured('Adds the response to a conversation.'),
  include: honoured('By its values.'),
  input: honoured('By its items.'),
  metadata: honoured('Stored, and shown to the agent.'),
  model: honoured('Names the agent.'),
  previous_response_id: honoured('Continues a response.'),
  store: honoured('`false` stores nothing.'),
  stream: honoured('Sends events.'),
  tools: honoured('By their types.'),
  truncation: honoured('`auto` shortens a conversation that is too long.'),
  user: honoured('Shown to the agent.'),
  max_tool_calls: honoured("Bounds the agent's own calls; the model reads why further ones fail."),
  instructions: given('For this response only.'),
  parallel_tool_calls: given('With tools of the client.'),
  reasoning: given('`effort`; any object shows the thinking.'),
  text: given('`format` and `verbosity`.'),
  tool_choice: given("Among the client's tools, and the agent's own in the first step."),
  frequency_penalty: SAMPLING,
  max_output_tokens: SAMPLING,
  presence_penalty: SAMPLING,
  temperature: SAMPLING,
  top_p: SAMPLING,
  prompt_cache_key: BY_OPENAI,
  safety_identifier: BY_OPENAI,
  service_tier: BY_OPENAI,
  context_management: honoured('Compacts a conversation of more tokens.'),
  prompt_cache_options: ignored('Set `options` in the config of the model.'),
  prompt_cache_retention: ignored('Set `options` in the config of the model.'),
  top_logprobs: ignored('Models report no log probabilities.'),
  stream_options: ignored('Events are never padded.'),
  access_programs: ignored('A program of the vendor.'),
  image: ignored('Models get images as they are sent.'),
  moderation: refused('is not done here: use guards.'),
  prompt: refused('is a template of another server: send its text as instructions.'),
} satisfies Treatments<keyof ResponseCreateParams | 'presence_penalty' | 'frequency_penalty'>
