import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { Lanes, settlesWithin } from '../../../src/async.ts'
import { evalResult, evalRun } from '../eval-results.ts'
import { startCli } from '../run-cli.ts'
import { makeProject, type TempProject } from '../temp-project.ts'

const ID = '01a21974-19c8-7000-b095-5a1c83000000'
const FILES = {
  'agents/echo.yml': 'id: echo\nmodules: [{ id: m, module: echo }]',
  'evals/words.jsonl': '{"agent":"echo","input":"hi","expected":"hi"}\n',
  'evals/results/1-good.json': JSON.stringify(evalResult([evalRun('a')])),
}
/** A file that each folder of a project may hold beside those that are right. */
const PLACES = [
  ...['prices.yml', '.env', '.gitignore', 'package.json', 'tsconfig.json', '.agent-host/agent.schema.json'],
  ...['agents/odd.yml', 'prompts/odd.md', 'modules/odd.ts', 'tools/odd.ts', 'tools/odd.py', 'skills/odd/SKILL.md'],
  ...['evals/odd.jsonl', 'evals/odd.ts', 'evals/results/9-odd.json', 'tests/odd.test.ts', 'tests/odd.jsonl.gz'],
  ...['debug/echo.jsonl', 'debug/odd.jsonl', 'debug/runs.db', `debug/tapes/${ID}.jsonl.gz`, 'debug/tapes/stored.txt'],
  ...['data/odd.txt', 'responses/responses.db', 'keys.yml'],
]
const COMMANDS = [
  ...[['check'], ['test'], ['eval', '--name', 'odd'], ['eval', 'compare', '1-good', '9-odd'], ['doctor'], ['schema']],
  ...[['runs'], ['runs', 'show', ID], ['runs', 'save', ID], ['runs', 'export', ID], ['replay', ID], ['approvals']],
  ...[
    ['chat', 'echo', 'hi'],
    ['eject', 'diff'],
    ['store', 'check'],
    ['init', '.', '--yes'],
    ['new', 'agent', 'more'],
  ],
  ['serve', '--adapter', 'ChatCompatApiAdapter,ResponsesCompatApiAdapter,UiApiAdapter', '--debug-ui', '--port', '0'],
]
const LARGE_BYTES = 100 * 1024 ** 3
const ENDED_MS = 60_000

type Put = (path: string) => unknown

const KINDS: Readonly<Record<string, Put>> = {
  pipe: (path) => execFileSync('mkfifo', [path]),
  folder: (path) => mkdirSync(path),
  zeros: (path) => symlinkSync('/dev/zero', path),
  nowhere: (path) => symlinkSync('/nowhere/at-all', path),
  circle: (path) => symlinkSync(path, path),
  large: (path) => {
    writeFileSync(path, '')
    truncateSync(path, LARGE_BYTES)
  },
  async socket(path) {
    const server = createServer().listen(path)
    await once(server, 'listening')
    server.unref()
  },
}

/**
 * Runs every command in a project with a file of an odd kind at one place.
 *
 * @param isChosen picks the cases, by kind and place
 * @returns commands that hung, crashed or showed a stack
 */
export async function findOddFileFaults(isChosen: (kind: string, place: string) => boolean): Promise<string[]> {
  const cases = Object.keys(KINDS).flatMap((kind) => PLACES.map((place) => ({ kind, place })))
  const chosen = cases.filter(({ kind, place }) => isChosen(kind, place))
  const lanes = new Lanes(availableParallelism())
  return (await Promise.all(chosen.map((each) => lanes.run(() => findFaultsOf(each))))).flat()
}

async function findFaultsOf({ kind, place }: { kind: string; place: string }): Promise<string[]> {
  const project = await makeProject(FILES)
  const path = project.path(place)
  mkdirSync(dirname(path), { recursive: true })
  await KINDS[kind]?.(path)
  const faults: string[] = []
  for (const command of COMMANDS) {
    const fault = await findFault(project, command)
    if (fault !== undefined) faults.push(`${kind} ${place}: ${command.join(' ')}: ${fault}`)
  }
  // A server may have moved a large trace aside.
  if (project.exists(place)) await project.remove(place)
  return faults
}

async function findFault({ dir }: TempProject, command: readonly string[]): Promise<string | undefined> {
  const running = startCli(command, { cwd: dir, env: { AGENT_HOST_TEST: '1' } })
  const isServer = command[0] === 'serve'
  if (isServer) {
    const said = await running.printed(/listening at (http:\/\/[\d.:]+)|^Error: .+/m).catch(() => undefined)
    if (said === undefined) {
      await running.stop('SIGKILL')
      return `neither serves nor ends: ${running.output().slice(-200)}`
    }
    // Once it answers, it listens to signals too.
    if (said[1] !== undefined) {
      await fetch(said[1])
      running.signal('SIGTERM')
    }
  }
  if (!(await settlesWithin(running.ended(), ENDED_MS))) {
    await running.stop('SIGKILL')
    return 'hangs'
  }
  const code = await running.ended()
  if (code === null || code > 2) return `ends with ${code}: ${running.output().slice(-200)}`
  return /^\s+at .+:\d+:\d+\)?$/m.test(running.output()) ? running.output().slice(0, 400) : undefined
}
