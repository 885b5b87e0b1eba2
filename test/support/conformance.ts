import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** What the official conformance suite says of a server. */
export interface Conformance {
  readonly passed: ReadonlySet<string>
  /** Messages by the ids of the checks. */
  readonly failed: ReadonlyMap<string, string>
}

const SUITE = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
)
const HOOK = new URL('./conformance-hook.js', import.meta.url).href

/**
 * Runs every scenario for servers, or one, in one version of the protocol.
 *
 * @param node program of a version that the suite supports; this one otherwise, with what it lacks
 */
export async function runConformance(
  url: string,
  version: string,
  outputDir: string,
  scenario?: string,
  node?: string,
): Promise<Conformance> {
  const chosen = scenario === undefined ? ['--suite', 'all'] : ['--scenario', scenario, '--force']
  const suite = [...(node === undefined ? [`--import=${HOOK}`] : []), SUITE, 'server', '--url', url]
  const args = [...suite, ...chosen, '--spec-version', version, '--output-dir', outputDir]
  // It ends with 1 when any check failed: the files say which.
  await promisify(execFile)(node ?? process.execPath, args).catch(() => {})
  const checks = readdirSync(outputDir).flatMap((folder): Check[] =>
    JSON.parse(readFileSync(join(outputDir, folder, 'checks.json'), 'utf8')),
  )
  const failed = checks.filter(({ status }) => status === 'FAILURE')
  return {
    passed: new Set(checks.filter(({ status }) => status === 'SUCCESS').map(({ id }) => id)),
    failed: new Map(failed.map(({ id, errorMessage = '' }) => [id, errorMessage])),
  }
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const asking = (id: string, asks: string) => `id: ${id}
description: ${id}
input: { type: object, properties: {} }
modules: [{ id: tools, module: asking, config: { asks: ${asks} } }, { id: main, module: asker }]`

const agent = (id: string, does: string) => `id: ${id}
description: ${id}
input: { type: object, properties: {} }
modules: [{ id: main, module: diagnose, config: { does: ${does} } }]`

/** The tools that the suite asks a server to have, as agents. */
export const CONFORMANCE_PROJECT: Readonly<Record<string, string>> = {
  // The suite calls the first tool of the list without arguments.
  'agents/0.yml': agent('a_first_tool', 'text'),
  'agents/a.yml': agent('test_simple_text', 'text'),
  'agents/b.yml': agent('test_image_content', 'image'),
  'agents/c.yml': agent('test_audio_content', 'audio'),
  'agents/d.yml': agent('test_embedded_resource', 'file'),
  'agents/e.yml': agent('test_multiple_content_types', 'all'),
  'agents/f.yml': agent('test_tool_with_progress', 'progress'),
  'agents/h.yml': asking('test_elicitation', 'contact'),
  'agents/i.yml': asking('test_elicitation_sep1034_defaults', 'defaults'),
  'agents/j.yml': asking('test_elicitation_sep1330_enums', 'enums'),
  'agents/k.yml': asking('test_input_required_result_elicitation', 'name'),
  'agents/l.yml': asking('test_input_required_result_multi_round', 'steps'),
  'agents/m.yml': asking('test_input_required_result_tampered_state', 'ok'),
  'agents/n.yml': asking('test_input_required_result_request_state', 'ok'),
  'modules/asking.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
const text = (more) => ({ type: 'string', ...more })
const form = (properties, required = []) => ({ type: 'object', properties, required })
const titled = ['value1', 'value2', 'value3'].map((value) => ({ const: value, title: 'Title of ' + value }))
const QUESTIONS = {
  contact: [['Please tell', form({ username: text(), email: text() }, ['username', 'email'])]],
  name: [['What is your name?', form({ name: text() }, ['name'])]],
  ok: [['Is it ok?', form({ ok: { type: 'boolean' } }, ['ok'])]],
  steps: [['What is your name?', form({ name: text() }, ['name'])], ['Which color?', form({ color: text() }, ['color'])]],
  defaults: [['Please check', form({
    name: text({ default: 'John Doe' }), age: { type: 'integer', default: 30 }, score: { type: 'number', default: 95.5 },
    status: text({ enum: ['active', 'inactive', 'pending'], default: 'active' }), verified: { type: 'boolean', default: true } })]],
  enums: [['Please choose', form({
    untitledSingle: text({ enum: ['option1', 'option2', 'option3'] }), titledSingle: text({ oneOf: titled }),
    legacyEnum: text({ enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] }),
    untitledMulti: { type: 'array', items: text({ enum: ['option1', 'option2', 'option3'] }) },
    titledMulti: { type: 'array', items: { anyOf: titled } } })]],
}
export default defineModule({ name: 'Asking', provides: [ToolProvider], config: Type.Object({ asks: Type.String() }), create: (_, { asks }) => ({
  listTools: () => [{ name: 'ask', description: 'Asks', parameters: { type: 'object', properties: {} } }],
  async executeTool(name, args, run) {
    const answers = []
    for (const [message, schema] of QUESTIONS[asks]) answers.push(await run.ask({ message, schema }))
    return { text: JSON.stringify(answers) }
  } }) })`,
  'modules/asker.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Asker', provides: [TextMessageHandler],
  uses: { tools: ToolProvider, history: ConversationHistory, response: Response },
  create: ({ tools, history, response }) => ({ async handleText(text, run) {
    const result = (await history.getHistory()).find(({ role }) => role === 'tool')
    if (result) return void (await response.respondText('User response: ' + result.content))
    await tools.executeTool('ask', {}, run.with({ toolCallId: 'user_name' }))
  } }) })`,
  'agents/g.yml': `id: json_schema_2020_12_tool
description: Tool with JSON Schema 2020-12 features
input:
  $schema: https://json-schema.org/draft/2020-12/schema
  type: object
  $defs:
    address:
      $anchor: addressDef
      type: object
      properties: { street: { type: string }, city: { type: string } }
  properties:
    name: { type: string }
    address: { $ref: '#/$defs/address' }
    contactMethod: { type: string, enum: [phone, email] }
    phone: { type: string }
    email: { type: string }
  allOf: [{ anyOf: [{ required: [phone] }, { required: [email] }] }]
  if: { properties: { contactMethod: { const: phone } }, required: [contactMethod] }
  then: { required: [phone] }
  else: { required: [email] }
  additionalProperties: false
modules: [{ id: main, module: diagnose, config: { does: text } }]`,
  'modules/diagnose.ts': `import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'
const image = { mediaType: 'image/png', data: Buffer.from('${PIXEL}', 'base64') }
const audio = { mediaType: 'audio/wav', data: new Uint8Array(44) }
const file = { mediaType: 'text/plain', data: Buffer.from('an embedded resource'), name: 'embedded.txt' }
export default defineModule({ name: 'Diagnose', provides: [TextMessageHandler], uses: { response: Response },
  config: Type.Object({ does: Type.String() }),
  create: ({ response }, { does }) => ({ async handleText(_text, run) {
    if (does === 'text' || does === 'all') await response.respondText('A simple text.')
    if (does === 'image' || does === 'all') await response.respondImage(image)
    if (does === 'audio') await response.respondAudio(audio)
    if (does === 'file' || does === 'all') await response.respondFile(file)
    if (does === 'progress') for (const percent of [0, 50, 100]) { run.reportProgress(percent + '%'); await new Promise((resolve) => setTimeout(resolve, 50)) }
  } }) })`,
}
