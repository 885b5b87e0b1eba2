import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ModuleContext } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import local from '../../../modules/tools/local.ts'
import { ProjectCode } from '../../../src/module/project-code.ts'
import { describeToolProvider } from '../../suites/tool-provider-suite.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { describeWith } from '../../support/describe-with.ts'
import { eventually } from '../../support/eventually.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { isInstalled } from '../../support/it-with.ts'
import { makeProject } from '../../support/temp-project.ts'

const TS = `import { defineTool, Type } from 'agent-host'
export const add = defineTool({ description: 'Adds two numbers.', parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: ({ a, b }) => String(a + b) })
export const greet = defineTool({ description: 'Greets.', parameters: Type.Object({ name: Type.String({ default: 'you' }) }),
  execute: ({ name }) => ({ greeting: 'Hello ' + name }) })
export const wait = defineTool({ description: 'Waits.', parameters: Type.Object({}),
  execute: (_, run) => new Promise((resolve) => run?.signal.addEventListener('abort', () => { globalThis.toolSignal = run.signal.reason.message; resolve('late') })) })
export const linger = defineTool({ description: 'Leaves work behind.', parameters: Type.Object({}),
  execute: (_, run) => { run?.signal.addEventListener('abort', () => { globalThis.toolSignal = run.signal.reason.message }) } })
export const nothing = defineTool({ description: 'Does nothing.', parameters: Type.Object({}), execute() {} })
export const huge = defineTool({ description: 'Counts.', parameters: Type.Object({}), execute: () => 10n })
export const broken = defineTool({ description: 'Fails.', parameters: Type.Object({}), execute() { throw new Error('out of order') } })
export const match = defineTool({ description: 'Matches.', parameters: Type.Object({ name: Type.String({ pattern: '^(a+)+$' }) }),
  execute: ({ name }) => name })
export const helper = () => 1
`

const PY = `
import dataclasses, datetime, enum, os, sys, threading, time, asyncio
from typing import Dict, List, Literal, Optional, Union
import helper_module
from os.path import join

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclasses.dataclass
class Point:
    x: int
    y: int = 0

def add(a: float, b: float) -> str:
    """Adds two numbers."""
    return f"{a + b:g}"

def types(text: str, count: int = 3, maybe: Optional[str] = None, many: List[int] = (), table: Optional[Dict[str, float]] = None,
          color: Color = Color.RED, kind: Literal["a", "b"] = "a", point: Optional[Point] = None, when: Optional[datetime.date] = None,
          either: Union[int, str] = 0, on: bool = False):
    """Takes many types.

    More about it.

    Args:
        text: Some text,
            over two lines.
        count (int): How many.
    """
    return {"text": text, "count": count, "many": [type(item).__name__ for item in many], "color": color, "point": point,
            "when": when.year if when else None, "either": either, "on": on, "kind": kind, "table": table}

def sphinx(a: int):
    """Does it.

    :param a: The number.
    """

async_begun, block_begun = threading.Event(), threading.Event()

async def meet() -> str:
    """Ends once the other has begun."""
    async_begun.set()
    while not block_begun.is_set():
        await asyncio.sleep(0.01)
    return "met"

def meet_blocking() -> str:
    block_begun.set()
    return "met" if async_begun.wait(10) else "alone"

async def slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return f"slept {seconds}"

def block(seconds: float) -> str:
    time.sleep(seconds)
    return "blocked"

def fail():
    raise ValueError("out of order")

def leave():
    sys.exit(3)

def die():
    os._exit(7)

def say(text: str):
    print(text)
    os.system("echo from a child")
    return os.environ.get("SECRET_KEY", "none") + " " + os.environ.get("NAMED", "none")

def fork_and_wait():
    if os.fork() == 0:
        time.sleep(60)
    return str(os.getpid())

def flood():
    for n in range(2000):
        print("flooding", n)
    return "done"

def odd():
    return object

def _private():
    pass
`

describe('tools/local', () => {
  const open: { [Symbol.asyncDispose]?(): PromiseLike<void> }[] = []
  afterEach(async () => {
    for (const each of open.splice(0)) await each[Symbol.asyncDispose]?.()
  })

  async function make(files: Record<string, string>, config: object, facts: Partial<ModuleContext> = {}) {
    const project = await makeProject(files)
    const code = new ProjectCode(project.dir)
    const watched: string[] = []
    const context = makeContext({
      projectDir: project.dir,
      environment: { PATH: process.env.PATH, SECRET_KEY: 'canary', NAMED: 'given' },
      importFile: async (path) => (await code.load(path)).exports,
      watchFile: (path) => void watched.push(path),
      ...facts,
    })
    const checked = Value.Parse(local.config, Value.Default(local.config, config))
    const provider = await local.create({}, checked, context)
    open.push(provider)
    const call = async (name: string, args: object = {}, run = makeRun()) => {
      try {
        const { text, data } = await provider.executeTool(name, args as Record<string, unknown>, run)
        return data === undefined ? text : data
      } catch (error) {
        return `! ${(error as Error).message}`
      }
    }
    return { project, provider, context, watched, call }
  }
  const failure = (...args: Parameters<typeof make>) =>
    make(...args).then(
      () => 'It was made.',
      (error: Error) => error.message,
    )
  const typescript = (config: object = {}) => make({ 'tools/t.ts': TS }, { files: ['tools/t.ts'], ...config })

  describe('in TypeScript', () => {
    describeToolProvider(async () => (await typescript()).provider)

    it('offers exported tools, and fills in defaults', async () => {
      const { provider, call } = await typescript()
      expect((await provider.listTools(makeRun())).map(({ name }) => name)).to.deep.equal([
        'add',
        'broken',
        'greet',
        'huge',
        'linger',
        'match',
        'nothing',
        'wait',
      ])
      expect(await call('greet')).to.deep.equal({ greeting: 'Hello you' })
      expect(await call('nothing')).to.equal('done')
      expect(await call('broken')).to.equal('! out of order')
      expect(await call('huge')).to.match(/^! The tool 'huge' returned a value that is not JSON/)
    })

    it('rejects arguments that a pattern takes too long for', async () => {
      const { call } = await typescript()
      expect(await call('match', { name: 'aaa' })).to.equal('aaa')
      const spentMs = measureCpuTime()
      expect(await call('match', { name: `${'a'.repeat(29)}!` })).to.equal(
        "! Wrong arguments for 'match': their check takes longer than 200 ms.",
      )
      expect(spentMs()).to.be.lessThan(1500)
    })

    it('aborts a call that takes too long, through its signal', async () => {
      const { call } = await typescript({ timeout: 0.05 })
      expect(await call('wait')).to.equal("! The tool 'wait' took longer than 0.05 s.")
      expect((globalThis as { toolSignal?: string }).toolSignal).to.equal("The tool 'wait' took longer than 0.05 s.")
    })

    it('aborts what a call has left behind with its run, through its signal', async () => {
      const { provider } = await typescript()
      const run = makeRun()
      await provider.executeTool('linger', {}, run)
      run.abort(new Error('The client left.'))
      expect((globalThis as { toolSignal?: string }).toolSignal).to.equal('The client left.')
    })

    it('selects tools by name, and rejects two with the same name', async () => {
      const names = async (config: object) =>
        (await (await typescript(config)).provider.listTools(makeRun())).map(({ name }) => name)
      expect(await names({ include: ['add', 'wait'], exclude: ['wait'] })).to.deep.equal(['add'])
      expect(await failure({ 'a.ts': TS }, { files: ['a.ts'], include: ['ad'] })).to.match(
        /^There is no tool 'ad' in the files\. Tools: add, /,
      )
      expect(await failure({ 'a.ts': TS, 'b.ts': TS }, { files: ['a.ts', 'b.ts'] })).to.equal(
        "The tool 'add' is in a.ts and in b.ts: rename or exclude one.",
      )
    })

    it('explains an invalid file', async () => {
      expect(await failure({}, { files: ['gone.ts'] })).to.match(/gone\.ts/)
      expect(await failure({ 'a.ts': 'export const [x, none] = [1, null]' }, { files: ['a.ts'] })).to.match(
        /^a\.ts has no tool\. Write: export const/,
      )
      expect(await failure({ 'a.ts': 'export const = 1' }, { files: ['a.ts'] })).to.match(/^a\.ts:1:14: /)
    })
  })

  describeWith('Python 3.8', isInstalled('Python 3.8'), 'in Python', () => {
    const python = (config: object = {}) =>
      make({ 'tools/t.py': PY, 'tools/helper_module.py': 'x = 1' }, { files: ['tools/t.py'], ...config })

    describeToolProvider(async () => (await python()).provider)

    it('derives schemas from type hints and docstrings', async () => {
      const { provider, watched, project } = await python()
      const tools = await provider.listTools(makeRun())
      expect(tools.map(({ name }) => name)).to.deep.equal(
        'add types sphinx meet meet_blocking slow block fail leave die say fork_and_wait flood odd'.split(' '),
      )
      expect(tools[1]).to.deep.equal({
        name: 'types',
        description: 'Takes many types. More about it.',
        parameters: {
          type: 'object',
          required: ['text'],
          properties: {
            text: { type: 'string', description: 'Some text, over two lines.' },
            count: { type: 'integer', description: 'How many.', default: 3 },
            maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
            many: { type: 'array', items: { type: 'integer' }, default: [] },
            table: { anyOf: [{ type: 'object', additionalProperties: { type: 'number' } }, { type: 'null' }] },
            color: { enum: ['red', 'blue'] },
            kind: { enum: ['a', 'b'], default: 'a' },
            point: {
              anyOf: [
                { type: 'object', properties: { x: { type: 'integer' }, y: { type: 'integer' } }, required: ['x'] },
                { type: 'null' },
              ],
            },
            when: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] },
            either: { anyOf: [{ type: 'integer' }, { type: 'string' }], default: 0 },
            on: { type: 'boolean', default: false },
          },
        },
      })
      expect((tools[2]?.parameters.properties as Record<string, unknown> | undefined)?.a).to.deep.equal({
        type: 'integer',
        description: 'The number.',
      })
      expect(watched).to.include.members(['tools/t.py', project.path('tools/helper_module.py')])
    })

    it('converts arguments to the types of the hints, and results to JSON', async () => {
      const { call } = await python()
      const args = {
        text: 't',
        count: '4',
        many: ['1', 2],
        color: 'blue',
        point: { x: '5' },
        when: '2026-01-02',
        either: '7',
        on: 'true',
      }
      expect(await call('types', args)).to.deep.equal({
        text: 't',
        count: 4,
        many: ['int', 'int'],
        color: 'blue',
        point: { x: 5, y: 0 },
        when: 2026,
        either: '7',
        on: true,
        kind: 'a',
        table: null,
      })
      expect(await call('types', { text: 't', kind: 'c' })).to.match(/kind must be one of 'a', 'b', not 'c'/)
      expect(await call('types', { text: 't', other: 1 })).to.match(/Wrong arguments for 'types': .*other/)
      expect(await call('odd')).to.equal("<class 'object'>")
    })

    it('runs async and blocking functions in parallel', async () => {
      const { call } = await python()
      expect(await Promise.all([call('meet'), call('meet_blocking')])).to.deep.equal(['met', 'met'])
    })

    it("keeps its protocol apart from the tools' input and output", async () => {
      const code = `import os, subprocess
def read() -> str:
    return repr(os.read(0, 10)) + subprocess.run(["cat"], capture_output=True, text=True).stdout
def garble() -> str:
    for descriptor in range(3, 12):
        try:
            os.write(descriptor, b'{"half":\\nnull\\n')
        except OSError:
            pass
    return "done"
`
      const { call, context } = await make({ 'a.py': code }, { files: ['a.py'] })
      expect(await Promise.all([call('read'), call('read')])).to.deep.equal(["b''", "b''"])
      expect([await call('garble'), await call('read')]).to.deep.equal(['done', "b''"])
      expect(context.lines).to.deep.include('warn Python wrote a line that is no answer; it was left out.')
    })

    it('reports where a function failed; an exit or a crash fails only that call', async () => {
      const { call } = await python()
      expect(await call('fail')).to.match(/^! tools\/t\.py:\d+: ValueError: out of order$/)
      expect(await call('leave')).to.match(/SystemExit: 3/)
      expect(await call('die')).to.equal('! Python stopped while the tool ran (exit code 7).')
      expect(await call('add', { a: 1, b: 1 })).to.equal('2')
    })

    it('ends a call that takes too long, lets others finish, and restarts', async () => {
      const { call } = await python({ timeout: 0.5 })
      const others = call('slow', { seconds: 0.4 })
      expect(await call('block', { seconds: 30 })).to.equal("! The tool 'block' took longer than 0.5 s.")
      expect(await others).to.equal('slept 0.4')
      expect(await call('add', { a: 2, b: 2 })).to.equal('4')
    })

    it('keeps a new process when an older call of the one before ends', async () => {
      const code = `import os, time
def pid() -> str:
    return str(os.getpid())
def block() -> str:
    time.sleep(30)
def nap() -> str:
    time.sleep(1)
`
      const { call } = await make({ 'a.py': code }, { files: ['a.py'], timeout: 2 })
      const one = call('block')
      await call('nap')
      const other = call('block')
      await one
      const pid = await call('pid')
      expect(await other).to.include('took longer than 2 s')
      expect(await call('pid')).to.equal(pid)
    })

    it('leaves no process behind that cannot load a file again', async () => {
      const code = 'import os\ndef die() -> str:\n    os._exit(7)\n'
      const { call, context } = await make({ 'a.py': code }, { files: ['a.py'] })
      await writeFile(join(context.projectDir, 'a.py'), 'def f(:')
      await call('die')
      for (const _ of [1, 2]) expect(await call('die')).to.match(/SyntaxError/)
      await eventually(async () => {
        const { stdout } = await promisify(execFile)('ps', ['-eo', 'args'])
        expect(stdout).to.not.include(context.projectDir)
      })
    })

    it('passes basic and configured variables to the child, and logs its output', async () => {
      const { call, context } = await python({ env: ['NAMED'] })
      expect(await call('say', { text: 'printed' })).to.equal('none given')
      await eventually(() => expect(context.lines).to.include.members(['info printed', 'info from a child']))
      await call('flood')
      await eventually(() =>
        expect(context.lines).to.include('warn prints too much: the rest of this second is left out'),
      )
    })

    it('leaves no process behind', async () => {
      const { call, provider } = await python()
      const pid = Number(await call('fork_and_wait'))
      expect(await processesOfGroup(pid)).to.equal(2)
      await provider[Symbol.asyncDispose]?.()
      await eventually(async () => expect(await processesOfGroup(pid)).to.equal(0))
    })

    it('says that the child could not be started, where its variables are too long', async () => {
      const environment = { PATH: process.env.PATH, LONG: 'x'.repeat(4 * 1024 * 1024) }
      expect(await failure({ 'a.py': 'def f(): pass' }, { files: ['a.py'], env: ['LONG'] }, { environment })).to.equal(
        'Python could not be started: spawn E2BIG.',
      )
    })

    it('explains an invalid file, a missing interpreter, and a file without tools', async () => {
      expect(await failure({ 'a.py': 'def f(:\n  pass' }, { files: ['a.py'] })).to.match(/^a\.py:1: SyntaxError: /)
      expect(await failure({ 'a.py': '\nimport no_such_thing' }, { files: ['a.py'] })).to.equal(
        "a.py:2: ModuleNotFoundError: No module named 'no_such_thing'",
      )
      expect(await failure({ 'a.py': 'x = 1' }, { files: ['a.py'] })).to.match(/^a\.py has no tool: write a function/)
      expect(await failure({ 'a.py': 'x = 1' }, { files: ['a.py'], python: 'no-such-python' })).to.match(
        /^Tools in Python need an interpreter, and none of these works: no-such-python\./,
      )
      expect(await failure({}, { files: ['a.py'] })).to.equal('There is no file a.py.')
    })

    it('does not start for TypeScript', async () => {
      const { call } = await make({ 'a.ts': TS }, { files: ['a.ts'], python: 'no-such-python' })
      expect(await call('add', { a: 1, b: 2 })).to.equal('3')
    })
  })
})

async function processesOfGroup(group: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pgid,stat'])
  return stdout.split('\n').filter((line) => Number(line.trim().split(/\s+/)[0]) === group && !/ Z/.test(line)).length
}
