import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { pathOfTape } from '../../src/tape/file/tape-folder.ts'
import { callCli } from '../support/call-cli.ts'
import { runCli, withFileLimit } from '../support/run-cli.ts'
import { openRecordingHost } from '../support/tapes.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const agent = (order: number) => `id: shop
modules:
  - id: llm
    module: llm/mock
    scope: agent
    config: { replies: [{ tool_calls: [{ name: refund, arguments: { order: ${order} } }] }, "It's done." ] }
  - { id: tools, module: shop }
  - { id: main, module: main }
`
/** Calls the tool that its model names, and fails if that does. */
const MAIN = `import { ConversationHistory, defineModule, LLM, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Main', provides: [TextMessageHandler], uses: { llm: LLM, tools: ToolProvider, response: Response, history: ConversationHistory },
  create: ({ llm, tools, response, history }) => ({ async handleText(text, run) {
    const messages = history.getHistory()
    for (;;) {
      let call, said = ''
      for await (const part of llm.generate({ messages }, run)) {
        if (part.type === 'tool_call') call = part.call
        if (part.type === 'text') said += part.text
      }
      if (!call) return response.respondText(said)
      const { text: content } = await tools.executeTool(call.name, call.arguments, run.with({ toolCallId: call.id }))
      messages.push({ role: 'assistant', content: said, toolCalls: [call] }, { role: 'tool', toolCallId: call.id, content })
    }
  } }) })`
const shop = (body: string) => `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Shop', provides: [ToolProvider], create: () => ({
  listTools: () => [],
  async executeTool(name, args) { ${body} } }) })`
const WORKING = shop("return { text: 'refunded ' + args.order }")
const BROKEN = shop("throw new Error('no such order')")

const RUN_ID = 'aaaa0000-0000-4000-8000-000000000000'

/** A project with a recorded run of an agent that refunds an order. */
async function makeRecorded(tool: string): Promise<TempProject> {
  const project = await makeProject({
    'agents/shop.yml': agent(7),
    'package.json': '{"type":"module"}',
    'modules/main.ts': MAIN,
    'modules/shop.ts': tool,
  })
  const recording = await openRecordingHost(project.dir)
  try {
    await recording.host.register(agent(7), { file: 'agents/shop.yml' })
    await recording.run('shop', 'Refund order 7', { runId: RUN_ID })
    return project
  } finally {
    await recording.close()
  }
}

const test = ({ dir }: TempProject) => runCli(['test'], { cwd: dir })

describe('runs save', () => {
  it('writes a test that passes without .env, and fails when calls or answer differ', async () => {
    const project = await makeRecorded(WORKING)
    const saved = await callCli(['runs', 'save', 'aaaa', '--name', 'refund'], { cwd: project.dir })
    expect(saved.stdout.split('\n').slice(0, 2)).deep.equal([
      'Created tests/refund.test.ts',
      'Created tests/tapes/refund.jsonl.gz',
    ])
    expect((await project.read('tests/refund.test.ts')).split('\n').slice(4)).deep.equal([
      `// Recorded from run ${RUN_ID}.`,
      "test('shop: refund', async () => {",
      '  // A changed prompt or model asks for other calls: record again with',
      '  // agent-host replay tests/tapes/refund.jsonl.gz --live llm --update',
      "  const { tools, answer, end, difference } = await replay('tests/tapes/refund.jsonl.gz')",
      '  assert.equal(difference, null, difference ?? undefined)',
      '  assert.deepEqual(tools, [',
      '    {',
      '      "name": "refund",',
      '      "arguments": {',
      '        "order": 7',
      '      }',
      '    }',
      '  ])',
      "  assert.equal(answer, 'It\\'s done.')",
      "  assert.equal(end, 'completed')",
      '})',
      '',
    ])
    expect((await test(project)).exitCode).equal(0)
    await project.write('modules/main.ts', MAIN.replace('call.arguments, run', '{ order: 8 }, run'))
    const { exitCode, stdout } = await test(project)
    expect(exitCode).equal(1)
    expect(stdout).include('arguments.order: recorded 7, asked 8')
    await project.write('modules/main.ts', MAIN.replace('respondText(said)', "respondText(said + '!')"))
    expect((await test(project)).exitCode).equal(1)
  })

  it('writes nothing of a foreign tape as code', async () => {
    const { dir } = await makeRecorded(WORKING)
    const own = pathOfTape(dir, RUN_ID)
    const lines = gunzipSync(readFileSync(own)).toString().trimEnd().split('\n')
    const change = (type: string, edit: (line: Record<string, unknown>) => object) =>
      gzipSync(
        `${lines.map((line) => (line.startsWith(`{"type":"${type}",`) ? JSON.stringify(edit(JSON.parse(line))) : line)).join('\n')}\n`,
      )
    writeFileSync(
      join(dir, 'foreign.gz'),
      change('turn', (line) => ({ ...line, run_id: 'x\nprocess.exit(7)' })),
    )
    const save = (name: string) => callCli(['runs', 'save', 'foreign.gz', '--name', name], { cwd: dir })
    const refused = await save('named')
    expect(refused.exitCode).equal(1)
    expect(refused.stderr).include('The tape foreign.gz does not fit together')
    const text = `it's \\' \u2028 \u2029 \n \u202e "quoted" \\" \${dir} \u0000`
    writeFileSync(
      join(dir, 'foreign.gz'),
      change('end', (line) => ({ ...line, text })),
    )
    expect((await save('answered')).exitCode).equal(0)
    const answered = readFileSync(join(dir, 'tests/answered.test.ts'), 'utf8')
    const [, literal = ''] = /assert\.equal\(answer, (.*)\)$/m.exec(answered) ?? []
    expect(runInNewContext(literal)).equal(text)
    expect(answered).not.match(/[\u2028\u202e]/)
    const failed = { status: 'failed', error: 'a\u2028process.exit(1)\nprocess.exit(2)\u202e' }
    writeFileSync(
      join(dir, 'foreign.gz'),
      change('end', (line) => ({ ...line, ...failed })),
    )
    expect((await save('failed')).exitCode).equal(0)
    expect(readFileSync(join(dir, 'tests/failed.test.ts'), 'utf8')).include(
      '  // The run failed: a process.exit(1) process.exit(2)\\u202e\n',
    )
    const args = [['refund', JSON.parse('{"__proto__":{"a":1},"order":7}')]]
    const toTool = (line: Record<string, unknown>) =>
      line.method === 'executeTool' ? { ...line, arguments: args[0] } : line
    writeFileSync(join(dir, 'foreign.gz'), change('call', toTool))
    expect((await save('called')).exitCode).equal(0)
    const called = readFileSync(join(dir, 'tests/called.test.ts'), 'utf8')
    const [, tools = ''] = /assert\.deepEqual\(tools, (\[.*?^ {2}\])\)$/ms.exec(called) ?? []
    expect(JSON.stringify(runInNewContext(tools))).equal(
      '[{"name":"refund","arguments":{"__proto__":{"a":1},"order":7}}]',
    )
  })

  it('saves a failed run as a test that passes once its tool is mended', async () => {
    const project = await makeRecorded(BROKEN)
    const { stdout } = await callCli(['runs', 'save', 'aaaa', '--name', 'refund'], { cwd: project.dir })
    expect(stdout).include("The run failed in a call of 'tools': the test passes once that is mended.")
    expect(await project.read('tests/refund.test.ts')).include(
      "const { error, difference } = await replay('tests/tapes/refund.jsonl.gz', { live: ['tools'] })",
    )
    const failing = await test(project)
    expect(failing.exitCode).equal(1)
    expect(failing.stdout).include('no such order')
    await project.write('modules/shop.ts', WORKING)
    expect((await test(project)).exitCode).equal(0)
  })

  it('records again with --update, and changes the test with it', async () => {
    const project = await makeRecorded(WORKING)
    await callCli(['runs', 'save', 'aaaa', '--name', 'refund'], { cwd: project.dir })
    await project.write('agents/shop.yml', agent(7).replace("It's done.", 'Refunded.'))
    const update = ['replay', 'tests/tapes/refund.jsonl.gz', '--live', 'llm', '--update']
    await project.write('notes.md', 'mine')
    symlinkSync(project.path('notes.md'), project.path(`tests/tapes/refund.jsonl.gz.${process.pid}.tmp`))
    const { exitCode, stderr } = await callCli(update, { cwd: project.dir })
    expect(await project.read('notes.md')).equal('mine')
    expect({ exitCode, stderr: stderr.split('\n').slice(1) }).deep.equal({
      exitCode: 0,
      stderr: [
        'Recorded refund.jsonl.gz again.',
        'Changed:',
        '  answer: recorded "It\'s done.", asked "Refunded."',
        'Updated refund.test.ts.',
        '',
      ],
    })
    expect(await project.read('tests/refund.test.ts')).include("assert.equal(answer, 'Refunded.')")
    expect((await test(project)).exitCode).equal(0)
    const edited = `${await project.read('tests/refund.test.ts')}// mine`
    await project.write('tests/refund.test.ts', edited)
    await project.write('agents/shop.yml', agent(7).replace("It's done.", 'Paid back.'))
    const again = await callCli(update, { cwd: project.dir })
    expect(again.stderr).include('refund.test.ts was edited: change what it expects yourself.')
    expect(await project.read('tests/refund.test.ts')).equal(edited)
  })

  it('changes nothing where the test exists, or the name is none', async () => {
    const project = await makeRecorded(WORKING)
    await project.write('tests/refund.test.ts', '// mine')
    const taken = await callCli(['runs', 'save', 'aaaa', '--name', 'refund'], { cwd: project.dir })
    expect(taken).include({ exitCode: 1 })
    expect(taken.stderr).match(/^Error: tests\/refund\.test\.ts already exists\./)
    expect(project.exists('tests/tapes/refund.jsonl.gz')).equal(false)
    const bad = await callCli(['runs', 'save', 'aaaa', '--name', '../x'], { cwd: project.dir })
    expect(bad.exitCode).equal(2)
  })

  it('leaves the file of cases as it was where a disk is full', async () => {
    const project = await makeRecorded(WORKING)
    await callCli(['runs'], { cwd: project.dir })
    const limit = 1024 * 1024
    const rows = `${JSON.stringify({ id: 'large', input: 'x'.repeat(limit - 100), expected: '' })}\n`
    await project.write('evals/cases.jsonl', rows)
    const full = await runCli(['runs', 'save', 'aaaa', '--case', 'evals/cases.jsonl'], {
      cwd: project.dir,
      runtime: withFileLimit(limit),
    })
    expect([full.exitCode, full.stdout]).deep.equal([1, ''])
    expect((await project.read('evals/cases.jsonl')) === rows).equal(true)
    expect(project.exists('evals/tapes/shop-aaaa0000.jsonl.gz')).equal(false)
  })
})
