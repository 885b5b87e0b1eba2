import autocannon from 'autocannon'
import { killRunning, startCli } from '../test/support/run-cli.ts'
import { makeProject } from './temp-project.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const CONNECTIONS = 20

/** The same agent, which computes, from one process and from two. The load itself needs little of a core. */
export async function benchProcesses(): Promise<void> {
  console.log('\n## serve --processes: chat with an agent that computes for 5 ms\n')
  const project = makeProject()
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [one, two] = [await measure(project, 1), await measure(project, 2)]
    ratios.push(two / one)
    console.log(`  one process ${one.toFixed(0)}/s, two ${two.toFixed(0)}/s`)
  }
  const ratio = ratios.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN
  console.log(`  ratio ${ratio.toFixed(2)} (goal 1.7 where two cores are free)`)
}

/** @returns requests answered in a second */
async function measure(cwd: string, processes: number): Promise<number> {
  const args = ['--adapter', 'ChatCompatApiAdapter', '--port', '0', '--log-level', 'info']
  const server = startCli(['serve', ...args, '--processes', `${processes}`], { cwd })
  try {
    const [, url = ''] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    await fire(url, 2)
    const { requests, errors, non2xx } = await fire(url, SECONDS)
    if (errors + non2xx > 0) throw new Error(`${errors} errors, ${non2xx} answers that were not 2xx`)
    return requests.average
  } finally {
    await server.stop()
    killRunning()
  }
}

function fire(url: string, duration: number) {
  return autocannon({
    url: `${url}/compat/chat/completions`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'busy', messages: [{ role: 'user', content: 'hi' }] }),
    connections: CONNECTIONS,
    duration,
  })
}
