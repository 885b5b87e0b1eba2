import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AgentHost } from 'agent-host'

test('the front desk hands each question to the right specialist, without a network', async () => {
  // An empty environment: no key is found, and the offline model answers.
  const host = new AgentHost({ environment: {} })
  try {
    await host.register(await readFile('agents/example.yml', 'utf8'), { file: 'agents/example.yml' })
    const { text: time } = await host.run('example', 'What time is it in Tokyo?')
    assert.match(time, /\d\d:\d\d/)
    const { text: order } = await host.run('example', 'Where is my order A-1002?')
    assert.match(order, /shipped/)
    const { text: direct } = await host.run('example/orders', 'Where is my order A-1003?')
    assert.match(direct, /packed/)
  } finally {
    await host.close()
  }
})
