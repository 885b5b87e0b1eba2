import * as host from 'agent-host'
import type { Method } from './public-surface.ts'

const { LLM, Type, scorers } = host
const OPTIONS = { projectDir: '/nowhere', logLevel: 'silent', drainTimeout: 0, debug: false, store: 'sqlite' }
const SERVED = { adapters: ['ChatCompatApiAdapter'], adapterOptions: { A: { a: 'x' } }, port: 0, host: '127.0.0.1' }
const OWNER = { agentId: 'a', moduleId: 'm' }

/** Takes a function as a method of no project. */
function plain(name: string, args: readonly unknown[], call: (...args: never[]) => unknown): Method {
  return [name, args, (_surface, ...given) => call(...(given as never[]))]
}

function storage(name: string, args: readonly unknown[], call: (storage: host.Storage, ...args: never[]) => unknown) {
  return plain(`storage.${name}`, args, (...given) => call(host.memoryStorage().storageOf(OWNER), ...given))
}

/**
 * The functions and classes that `agent-host` exports, each with arguments of every field. Errors are made of whatever a failure has at hand, and
 * `pairCalls` is code of the page, too: they check nothing.
 */
export const FUNCTIONS: readonly Method[] = [
  plain('raceAbort', [Promise.resolve(1), new AbortController().signal], host.raceAbort),
  plain('withDeadline', [Promise.resolve(1), 50, () => new Error('late')], host.withDeadline),
  plain('decodeText', [new Uint8Array(2), 'f', () => {}], host.decodeText),
  plain('compileSchema', [{ type: 'object', properties: {} }], host.compileSchema),
  plain('readFrontMatter', ['---\na: 1\n---\n', 'f'], host.readFrontMatter),
  plain('hasPatterns', [{ type: 'object' }], host.hasPatterns),
  plain('isTimeLimit', [1], host.isTimeLimit),
  plain('runLimited', [() => 1, 50], host.runLimited),
  plain('readYamlText', ['a: 1', 'f', { maxBytes: 5, kind: 'x', linesAbove: 1 }], host.readYamlText),
  plain('lineOf', [['a', 0]], (path) => host.readYamlText('a: 1', 'f').lineOf(path)),
  plain('messageOf', [1], host.messageOf),
  plain('fieldsOf', [1], host.fieldsOf),
  plain('isObject', [1], host.isObject),
  plain('defineModule', [{ name: 'x', provides: [LLM], create: () => ({}), uses: { a: LLM } }], host.defineModule),
  plain('defineTool', [{ description: 'x', parameters: Type.Object({}), execute: () => 1 }], host.defineTool),
  plain('defineProtocol', ['X', ['a']], host.defineProtocol),
  plain('many', [LLM], host.many),
  plain('optional', [LLM], host.optional),
  plain('proxyAgentFor', [new URL('http://localhost')], host.proxyAgentFor),
  plain('readRegularFile', [import.meta.filename, { maxBytes: 1e6, within: '/' }], host.readRegularFile),
  plain('sumUsage', [[{ inputTokens: 1 }]], host.sumUsage),
  plain('memoryStorage', [{ isShared: true }], host.memoryStorage),
  plain('makeRedact', [{ MY_KEY: 'abcdefghij' }], host.makeRedact),
  plain('redact', ['x'], (text) => host.makeRedact({})(text)),
  plain('scorers.schema', [{ type: 'object' }], scorers.schema),
  plain('scorers.latency', [{ maxMs: 1 }], scorers.latency),
  plain('scorers.tokens', [{ max: 1 }], scorers.tokens),
  plain('scorers.cost', [{ maxUsd: 1 }], scorers.cost),
  plain('scorers.judge', [{ llm: 'llm/mock', config: {}, criteria: 'x' }], scorers.judge),
  plain('AnswerParts', [{ text: '', reasoning: [] }], (answer) => new host.AnswerParts(answer)),
  plain('take', [{ type: 'text', text: 'x' }], (part) => new host.AnswerParts().take(part)),
  plain(
    'AgentHost',
    [{ projectDir: '/nowhere', environment: {}, maxConcurrentRuns: 1, runTimeoutMs: 5, publicUrl: 'http://x' }],
    async (options) => {
      const agents = new host.AgentHost(options)
      await agents.register({ id: 'e', modules: [{ id: 'm', module: 'echo' }] })
      await agents.close(10)
    },
  ),
  plain('openProject', [OPTIONS], async (options) => (await host.openProject(options)).close()),
  plain('buildServer', [{ ...OPTIONS, ...SERVED }], async (options) => (await host.buildServer(options)).close()),
  plain('replay', ['x.jsonl', { live: ['llm'], projectDir: '/nowhere', environment: {} }], host.replay),
  plain('agentHost', [{}, {}], host.agentHost),
  plain('storageOf', [OWNER], (owner) => host.memoryStorage().storageOf(owner)),
  storage('get', ['k'], (records, key) => records.get(key)),
  storage('set', ['k', 1], (records, key, value) => records.set(key, value)),
  storage('delete', ['k'], (records, key) => records.delete(key)),
  storage('list', [{ prefix: 'a', limit: 5, order: 'asc', after: 'a' }], (records, range) => records.list(range)),
  storage('append', ['k', 1], (records, key, value) => records.append(key, value)),
  storage('replace', ['k', 1, 2], (records, key, was, value) => records.replace(key, was, value)),
]
