import { ToolProvider } from 'agent-host'
import { expect } from 'chai'
import { openProject } from '../../../src/assembly/open-project.ts'
import { silentLog } from '../../../src/protocols/log.ts'
import { resolveServerOptions } from '../../../src/server/options/options.ts'
import { makeProject } from '../../support/temp-project.ts'

const FILES = {
  'agents/kb.yml': 'id: kb\nmodules:\n  - { id: articles, module: articles }\n  - { id: main, module: echo }',
  'modules/articles.ts': `import { defineModule, ToolProvider } from 'agent-host'
const object = (properties, required = []) => ({ type: 'object', properties, required })
export default defineModule({ name: 'Articles', provides: [ToolProvider], create: () => ({
  listTools: () => [
    { name: 'read', description: '', parameters: object({ title: { type: 'string' }, part: { type: 'number', default: 1 } }, ['title']) },
    { name: 'broken', description: '', parameters: object({ title: { type: 'string', pattern: '(' } }) },
    { name: 'slow', description: '', parameters: object({ title: { type: 'string', pattern: '^(a+)+$' } }) },
    { name: 'print', description: '', parameters: object({ copies: { type: 'number', default: 500 } }) },
  ],
  needsApproval: (name, { copies }) => name === 'print' && copies > 100,
  executeTool: async (name, args) => ({ text: name + ' ' + JSON.stringify(args) }) }) })`,
}

describe('arguments of tools of a project', () => {
  it('are those by which its code says who needs an approval: with their defaults', async () => {
    const { dir: projectDir } = await makeProject(FILES)
    await using project = await openProject(resolveServerOptions({ projectDir }), { log: silentLog })
    const print = async (args: Record<string, unknown>) => {
      const act = (tools: ToolProvider, run: Parameters<ToolProvider['listTools']>[0]) =>
        tools.executeTool('print', args, run)
      const called = project.host.callModule('kb', { moduleId: 'articles', protocol: ToolProvider, act })
      return called.then(
        (result) => result?.text ?? 'waits',
        ({ message }: Error) => message,
      )
    }
    expect(await Promise.all([{}, { copies: '101' }, { copies: '7' }].map(print))).to.deep.equal([
      'waits',
      'waits',
      'print {"copies":7}',
    ])
    expect(await print({ copies: 'many' })).to.match(/^Wrong arguments for 'print': /)
  })

  it('must match their schemas, and the log names a schema that is of no use once', async () => {
    const { dir: projectDir } = await makeProject(FILES)
    const warnings: string[] = []
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
    await using project = await openProject(resolveServerOptions({ projectDir }), { log })
    const call = async (name: string, args: Record<string, unknown>) => {
      const act = (tools: ToolProvider, run: Parameters<ToolProvider['listTools']>[0]) =>
        tools.executeTool(name, args, run)
      const called = project.host.callModule('kb', { moduleId: 'articles', protocol: ToolProvider, act })
      return called.then(
        (result) => result?.text,
        (error: Error) => error.message,
      )
    }
    const long = { title: `${'a'.repeat(40)}!` }
    expect(await call('read', { title: 7, part: '2' })).equal('read {"title":"7","part":2}')
    expect(await call('read', { title: 'x' })).equal('read {"title":"x","part":1}')
    expect(await call('read', {})).match(/^Wrong arguments for 'read': .*title/)
    expect(await call('unlisted', { any: 1 })).equal('unlisted {"any":1}')
    for (let round = 0; round < 2; round++) {
      expect(await call('broken', { title: 'x' })).equal('broken {"title":"x"}')
      expect(await call('slow', long)).equal(`slow ${JSON.stringify(long)}`)
    }
    expect(warnings.map((warning) => warning.replace(/\(.*\)/, '(...)'))).deep.equal([
      "kb: module 'articles' describes 'broken' by a schema that cannot be used (...); its arguments are not checked.",
      "kb: module 'articles' describes 'slow' by a schema that takes too long to check; its arguments are not checked.",
    ])
  })
})
