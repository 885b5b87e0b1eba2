import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathOfTape } from '../../src/tape/file/tape-folder.ts'
import type { EvalResult } from '../../src/wire/eval-result.ts'
import { callCli } from './call-cli.ts'
import { openRecordingHost } from './tapes.ts'
import { makeProject, type TempProject } from './temp-project.ts'

/** Says `You said: <question>`, or what its config says. */
export const PARROT = `import { defineModule, Response, TextMessageHandler, Type } from 'agent-host'
export default defineModule({ name: 'Parrot', provides: [TextMessageHandler], uses: { response: Response },
  config: Type.Object({ prefix: Type.String({ default: 'You said: ', variant: true }) }),
  create: ({ response }, { prefix }) => ({ async handleText(text) {
    if (text === 'fail') throw new Error('no such word')
    await response.respondText(prefix + text)
  } }) })`

export const parrot = (id = 'parrot') => `id: ${id}\nmodules:\n  - { id: main, module: parrot }\n`

/** A project with a parrot and these cases. */
export function makeEvals(
  rows: readonly (object | string)[],
  files: Readonly<Record<string, string>> = {},
): Promise<TempProject> {
  const text = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n')
  return makeProject({
    'agents/parrot.yml': parrot(),
    'modules/parrot.ts': PARROT,
    'package.json': '{"type":"module"}',
    'evals/words.jsonl': `${text}\n`,
    ...files,
  })
}

export const runEval = ({ dir }: TempProject, ...args: string[]) => callCli(['eval', ...args], { cwd: dir })

export const listResults = ({ dir }: TempProject) => readdirSync(join(dir, 'evals/results')).sort()

/** The newest result of a project. */
export function readResult(project: TempProject): EvalResult {
  const file = listResults(project).at(-1) ?? ''
  return JSON.parse(readFileSync(project.path(`evals/results/${file}`), 'utf8'))
}

/** Calls the tool that its model names until it names none, and counts in `globalThis.evalCalls`. */
export const REFUND_FILES = {
  'modules/shop.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Shop', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'refund', description: 'Refunds', parameters: { type: 'object' } }],
  async executeTool(name, args) { globalThis.evalCalls = (globalThis.evalCalls ?? 0) + 1; return { text: 'refunded ' + args.order } } }) })`,
  'package.json': '{"type":"module"}',
}

export const refundAgent = ({ order = 7, prompt = 'Be kind.', said = 'Done.' } = {}) => `id: shop
modules:
  - id: llm
    module: llm/mock
    scope: agent
    config: { replies: [{ tool_calls: [{ name: refund, arguments: { order: ${order} } }] }, "${said}"] }
  - { id: tools, module: shop }
  - { id: loop, module: orchestrator/tool-loop, config: { system_prompt: ${prompt} } }
`

export const TAPED_RUN = 'aaaa0000-0000-4000-8000-000000000000'

/** A project with the tape of a refund, as `evals/tapes/refund.jsonl.gz`. */
export async function makeTapedEvals(row: object): Promise<TempProject> {
  const project = await makeProject({
    ...REFUND_FILES,
    'agents/shop.yml': refundAgent(),
    'evals/shop.jsonl': `${JSON.stringify(row)}\n`,
  })
  const recording = await openRecordingHost(project.dir)
  try {
    await recording.host.register(refundAgent(), { file: 'agents/shop.yml' })
    await recording.run('shop', 'Refund order 7', { runId: TAPED_RUN })
  } finally {
    await recording.close()
  }
  await project.write('evals/tapes/.keep', '')
  await project.move(pathOfTape('', TAPED_RUN).replace(/^\//, ''), 'evals/tapes/refund.jsonl.gz')
  return project
}

/** Number of tools that were executed. */
export const executedTools = (): number => (globalThis as { evalCalls?: number }).evalCalls ?? 0
