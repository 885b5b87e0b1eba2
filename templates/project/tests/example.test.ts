import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AgentHost } from 'agent-host'
import { currentTime } from '../tools/example.ts'

test('the tool tells the time of a time zone', async () => {
  assert.match(String(await currentTime({ timezone: 'Asia/Tokyo' })), /\d\d:\d\d:\d\d/)
})

test('the example agent answers with the help of its tool, without a network', async () => {
  // An empty environment: no key is found, and the offline model answers.
  const host = new AgentHost({ environment: {} })
  const called: unknown[] = []
  host.onEvent((event) => {
    if (event.event_type === 'call' && event.method_name === 'executeTool') called.push(event.arguments?.args[0])
  })
  try {
    await host.register(await readFile('agents/example.yml', 'utf8'), { file: 'agents/example.yml' })
    const { text } = await host.run('example', 'What time is it in Tokyo?')
    assert.deepEqual(called, ['currentTime'])
    assert.match(text, /\d\d:\d\d/)
  } finally {
    await host.close()
  }
})
