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

/** Runs every scenario for servers, in one version of the protocol. */
export async function runConformance(url: string, version: string, outputDir: string): Promise<Conformance> {
  const args = [`--import=${HOOK}`, SUITE, 'server', '--url', url, '--suite', 'all', '--spec-version', version]
  // It ends with 1 when any check failed: the files say which.
  await promisify(execFile)(process.execPath, [...args, '--output-dir', outputDir]).catch(() => {})
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
