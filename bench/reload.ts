import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ChildServer } from './child-server.ts'
import { echoAgent, makeAgents } from './temp-agents.ts'

const SAVES = 20

/** From the save of an agent's file to the first answer of the new version. */
export async function benchReload(): Promise<void> {
  console.log('\n## Save to served\n')
  const project = makeAgents(100)
  const server = await ChildServer.start('agent-host', [project])
  const times: number[] = []
  for (let save = 1; save <= SAVES; save++) {
    const startedMs = performance.now()
    writeFileSync(join(project, 'agents', 'a7.yml'), echoAgent('a7', `${save} `))
    while ((await ask(server.url)) !== `${save} hi`) await setTimeout(2)
    times.push(performance.now() - startedMs)
    await setTimeout(200)
  }
  times.sort((a, b) => a - b)
  console.log(
    `  median ${times[SAVES / 2]?.toFixed(0)} ms, slowest ${times.at(-1)?.toFixed(0)} ms of ${SAVES} (goal 300)`,
  )
  await server.stop()
}

async function ask(url: string): Promise<string | undefined> {
  const response = await fetch(`${url}/compat/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'a7', messages: [{ role: 'user', content: 'hi' }] }),
  })
  const body = (await response.json()) as { choices?: { message: { content: string } }[] }
  return body.choices?.[0]?.message.content
}
