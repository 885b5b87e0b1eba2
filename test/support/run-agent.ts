import {
  type AgentEventListener,
  AgentHost,
  type Message,
  memoryStorage,
  type RunOptions,
  type RunResult,
} from 'agent-host'
import { makeProject } from './temp-project.ts'

interface Facts extends RunOptions {
  /** Of the project, texts by path. */
  readonly files?: Readonly<Record<string, string>>
  /** One text each; the agent keeps what is agent-scoped between them. */
  readonly before?: readonly string[]
  /** Called for each call between modules. */
  readonly onCall?: AgentEventListener
}

/** What an agent answers, in a project and a host of its own. */
export async function runAgent(
  definition: object,
  text: string | readonly Message[],
  facts: Facts = {},
): Promise<RunResult> {
  const { files = {}, before = [], onCall, ...options } = facts
  const { dir } = await makeProject(files)
  const host = new AgentHost({ projectDir: dir, environment: { PATH: process.env.PATH }, storage: memoryStorage() })
  try {
    const { id } = await host.register(definition)
    if (onCall) host.onEvent(onCall)
    for (const earlier of before) await host.run(id, earlier, options)
    return await host.run(id, text, options)
  } finally {
    await host.close(0)
  }
}

/** `tools/clock.ts`: a tool that answers, one that fails, one that takes its time. */
export const CLOCK = `import { defineTool, Type } from 'agent-host'
export const clock = defineTool({ description: 'Tells the time in a city.', parameters: Type.Object({ city: Type.String() }), execute: ({ city }) => 'noon in ' + city })
let count = 0
export const counter = defineTool({ description: 'Counts.', parameters: Type.Object({}), execute: () => String(++count) })
export const broken = defineTool({ description: 'Fails.', parameters: Type.Object({}), execute() { throw new Error('out of order') } })
export const slow = defineTool({ description: 'Takes long.', parameters: Type.Object({}), execute: () => new Promise((resolve) => setTimeout(resolve, 3000, 'late')) })
`
export const clockTools = { id: 'tools', module: 'tools/local', config: { files: ['tools/clock.ts'] } }
export const clockFiles = { 'tools/clock.ts': CLOCK }
