import { basename, resolve } from 'node:path'
import { CHAT, callTool, chat, LIST_AGENTS, QUESTION, RESPONSES, response } from './bodies.ts'
import type { Load } from './compare.ts'
import { makeFolder, makeProject } from './temp-project.ts'

/** A server of bench/servers by its name, with its arguments. */
export type ServerArguments = readonly [name: string, ...args: string[]]

/** A line of the table of docs/benchmarks.md. */
export interface RequestLoad extends Load {
  /** Called for each process: two of them cannot share a store. */
  readonly floor: () => ServerArguments
  /** In the place of this build. */
  readonly own?: () => ServerArguments
  /** Numbers of connections, where they are not 1, 10 and 100. */
  readonly connections?: readonly number[]
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{"city":"Tokyo"}' } }
const TOOLS = [{ type: 'function', function: { name: 'clock', parameters: { type: 'object', properties: {} } } }]
const ANSWERED = [
  QUESTION,
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: '12:00' },
]

const post = (path: string, ...bodies: object[]) => ({ path, bodies: bodies.map((body) => JSON.stringify(body)) })
const caller = (fields: object) => chat({ model: 'caller', ...fields })
const bareResponses = (): ServerArguments => ['bare-responses', makeFolder()]

/** Names of other checkouts: their folders. */
export const buildNames = (against: readonly string[]) => against.map((checkout) => basename(resolve(checkout)))

export const ownBuild = (): ServerArguments => ['agent-host', makeProject()]

export const LOADS: readonly RequestLoad[] = [
  { title: 'chat JSON', cpuGoal: 1.25, floor: () => ['bare'], ...post(CHAT, chat({})) },
  { title: 'chat SSE, 20 chunks', cpuGoal: 0.75, floor: () => ['bare'], ...post(CHAT, chat({ stream: true })) },
  {
    title: "round trip of a client's tool against two plain requests",
    cpuGoal: 1.1,
    floor: ownBuild,
    connections: [10],
    ...post(CHAT, caller({ tools: TOOLS }), caller({ tools: TOOLS, messages: ANSWERED })),
    floorBodies: post(CHAT, caller({})).bodies,
  },
  { title: 'MCP tools/call', cpuGoal: 1.25, floor: () => ['bare-mcp'], ...post('/mcp', callTool('twenty')) },
  {
    title: 'MCP tools/call of the official SDK',
    floor: () => ['bare-mcp'],
    own: () => ['sdk-mcp'],
    connections: [10],
    ...post('/mcp', callTool('echo')),
  },
  {
    title: 'GraphQL list_agents',
    cpuGoal: 1.2,
    floor: () => ['bare-json'],
    ...post('/api/ui/graphql', LIST_AGENTS),
  },
  { title: 'stored response, JSON', floor: bareResponses, ...post(RESPONSES, response({})) },
  {
    title: 'stored response, JSON, against a transaction each',
    cpuGoal: 0.4,
    floor: () => ['bare-responses', makeFolder(), 'each'],
    ...post(RESPONSES, response({})),
  },
  {
    title: 'stored response, JSON, against a transaction each that does not sync',
    floor: () => ['bare-responses', makeFolder(), 'unsynced'],
    ...post(RESPONSES, response({})),
  },
  {
    title: 'stored response with one tool, against the same without a store',
    floor: ownBuild,
    ...post(RESPONSES, response({ model: 'clock' })),
    floorBodies: post(RESPONSES, response({ model: 'clock', store: false })).bodies,
  },
  { title: 'stored response, SSE of 20 deltas', floor: bareResponses, ...post(RESPONSES, response({ stream: true })) },
  {
    title: 'unstored response, JSON',
    cpuGoal: 1.3,
    floor: bareResponses,
    ...post(RESPONSES, response({ store: false })),
  },
  {
    title: 'unstored response, SSE of 20 deltas',
    cpuGoal: 0.9,
    floor: bareResponses,
    ...post(RESPONSES, response({ store: false, stream: true })),
  },
]
