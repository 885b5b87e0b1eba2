import { once } from 'node:events'
import { WebSocket } from 'ws'
import { ChildServer } from './child-server.ts'
import { makeProject } from './temp-project.ts'

const CLIENTS = 10
const ROUNDS = 5
/** Of each client in a round. */
const TURNS = 100

/** The same turn over HTTP and over a WebSocket: CPU time of the server for each. */
export async function benchSockets(): Promise<void> {
  const server = await ChildServer.start('agent-host', [makeProject(), 'ResponsesCompatApiAdapter'])
  console.log('\n## A streamed turn of 20 deltas, over HTTP and over a WebSocket: CPU time of the server\n')
  for (const store of [false, true]) {
    const body = { model: 'twenty', input: 'What is the time in Tokyo, and why?', store }
    const overHttp = () => askOverHttp(server.url, body)
    const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => openSocket(server.url)))
    const turns = [Array.from({ length: CLIENTS }, () => overHttp), sockets.map((ask) => () => ask(body))]
    const micros: number[][] = [[], []]
    for (let round = 0; round < ROUNDS + 1; round++) {
      for (const [index, clients] of turns.entries()) {
        const used = await cpuOf(server, clients)
        if (round > 0) micros[index]?.push(used)
      }
    }
    const [http = 0, socket = 0] = micros.map((values) => values.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)])
    const figures = `${http.toFixed(0)} µs and ${socket.toFixed(0)} µs: ${(socket / http).toFixed(2)} of it (goal 0.8)`
    console.log(`  ${store ? 'stored' : 'not stored'}: ${figures}`)
  }
  await server.stop()
}

async function cpuOf(server: ChildServer, clients: readonly (() => Promise<void>)[]): Promise<number> {
  const before = await server.used()
  await Promise.all(
    clients.map(async (ask) => {
      for (let turn = 0; turn < TURNS; turn++) await ask()
    }),
  )
  const after = await server.used()
  return (after.cpuMicros - before.cpuMicros) / (clients.length * TURNS)
}

async function askOverHttp(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ ...body, stream: true }),
  })
  if (!(await reply.text()).includes('response.completed')) throw new Error('The stream has no end.')
}

async function openSocket(url: string): Promise<(body: object) => Promise<void>> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`)
  await once(socket, 'open')
  return (body) =>
    new Promise((resolve) => {
      const listen = (data: object) => {
        if (!data.toString().startsWith('{"type":"response.completed"')) return
        socket.off('message', listen)
        resolve()
      }
      socket.on('message', listen)
      socket.send(JSON.stringify({ type: 'response.create', ...body }))
    })
}
