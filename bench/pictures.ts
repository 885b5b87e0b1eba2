import { randomBytes } from 'node:crypto'
import { ChildServer } from './child-server.ts'
import { makeProject } from './temp-project.ts'

const BYTES = 10 * 1024 * 1024
const PICTURES = 20

const url = `data:image/png;base64,${randomBytes(BYTES).toString('base64')}`
const asChat: object = {
  model: 'sight',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ],
}
const asResponse = (store: boolean) => ({
  model: 'sight',
  store,
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_image', image_url: url },
      ],
    },
  ],
})

/**
 * Memory and delay of the event loop that a large picture costs.
 *
 * @param against folders of other checkouts, whose builds are measured with the last of the requests
 */
export async function benchPictures(against: readonly string[]): Promise<void> {
  console.log(`\n## A picture of ${BYTES / 1024 ** 2} MB\n`)
  await benchPicture('chat', '/v1/chat/completions', asChat)
  await benchPicture('unstored response', '/v1/responses', asResponse(false))
  for (const checkout of [undefined, ...against]) {
    await benchPicture('stored response, then continued', '/v1/responses', asResponse(true), checkout)
  }
}

async function benchPicture(
  title: string,
  path: string,
  payload: object & { readonly store?: boolean },
  checkout?: string,
): Promise<void> {
  const body = JSON.stringify(payload)
  const small = body.replace(url, 'data:image/png;base64,cG5n')
  const server = await ChildServer.start('agent-host', [makeProject()], { checkout })
  const send = async () => {
    const { id } = await post(server.url + path, body)
    const next = { model: 'sight', input: 'And now?', previous_response_id: id }
    if (payload.store) await post(server.url + path, JSON.stringify(next))
  }
  for (let n = 0; n < 500; n++) await post(server.url + path, small)
  const idle = await server.used()
  await send()
  const one = await server.used()
  for (let n = 0; n < PICTURES; n++) await send()
  const many = await server.used()
  const sizes = (maxRssBytes: number) => ((maxRssBytes - idle.maxRssBytes) / BYTES).toFixed(1)
  const memory = `memory x ${sizes(one.maxRssBytes)} of its size (goal 3), x ${sizes(many.maxRssBytes)} after ${PICTURES}`
  console.log(
    `  ${title}${checkout ? `, ${checkout}` : ''}: ${memory}; event loop p99 ${many.loopP99Ms.toFixed(0)} ms (goal 50)`,
  )
  await server.stop()
}

async function post(address: string, body: string): Promise<{ readonly id: string }> {
  const reply = await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const answer = await reply.text()
  if (!reply.ok) throw new Error(`${reply.status}: ${answer.slice(0, 300)}`)
  return JSON.parse(answer)
}
