import type { ToolProvider } from 'agent-host'
import { expect } from 'chai'
import { makeRun } from '../support/fake-run.ts'

/** What every provider of tools promises. The one that is made has a tool `add` for two numbers, `a` and `b`. */
export function describeToolProvider(makeProvider: () => Promise<ToolProvider>): void {
  describe('as a ToolProvider', () => {
    it('lists its tools in a stable order, each with a JSON Schema of its arguments', async () => {
      const provider = await makeProvider()
      const tools = await provider.listTools(makeRun())
      expect(await provider.listTools(makeRun())).to.deep.equal(tools)
      const add = tools.find(({ name }) => name === 'add')
      expect(add?.description).to.equal('Adds two numbers.')
      expect(add?.parameters).to.deep.include({ type: 'object', required: ['a', 'b'] })
      expect((add?.parameters.properties as Record<string, unknown> | undefined)?.a).to.deep.include({ type: 'number' })
    })

    it('calls a tool, even if the model writes numbers as text', async () => {
      const provider = await makeProvider()
      expect((await provider.executeTool('add', { a: 1.5, b: 2 }, makeRun())).text).to.equal('3.5')
      expect((await provider.executeTool('add', { a: '1', b: '2' }, makeRun())).text).to.match(/^3(\.0)?$/)
    })

    it('runs many calls at once', async () => {
      const provider = await makeProvider()
      const calls = Array.from({ length: 50 }, (_, n) => provider.executeTool('add', { a: n, b: 0.5 }, makeRun()))
      expect((await Promise.all(calls)).map(({ text }) => text)).to.deep.equal(calls.map((_, n) => `${n}.5`))
    })

    it('rejects an unknown tool, and invalid arguments', async () => {
      const provider = await makeProvider()
      const failure = (name: string, args: object) =>
        provider.executeTool(name, args as Record<string, unknown>, makeRun()).then(
          () => 'It did not fail.',
          (error: Error) => error.message,
        )
      expect(await failure('no_such_tool', {})).to.match(/no tool 'no_such_tool'/)
      expect(await failure('add', { a: 1 })).to.match(/'add'.*b/)
      expect(await failure('add', { a: 1, b: 'x' })).to.match(/b must be (a )?number/)
    })

    it('calls nothing for an ended run', async () => {
      const provider = await makeProvider()
      const run = makeRun()
      run.abort(new Error('enough'))
      const failure = await provider.executeTool('add', { a: 1, b: 1 }, run).catch((error: Error) => error.message)
      expect(failure).to.equal('enough')
    })
  })
}
