import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AgentHost } from 'agent-host'

test('the front desk asks the right specialist, without a network', async () => {
  // An empty environment: no key is found, and the offline model answers.
  const host = new AgentHost({ environment: {} })
  try {
    for (const name of await readdir('agents')) {
      await host.register(await readFile(`agents/${name}`, 'utf8'), { file: `agents/${name}` })
    }
    const asked: string[] = []
    host.onRunEnd(({ agentId, parentRunId }) => {
      if (parentRunId !== undefined) asked.push(agentId)
    })
    const { text: time } = await host.run('example', 'What time is it in Tokyo?')
    assert.match(time, /\d\d:\d\d/)
    const { text: order } = await host.run('example', 'Where is my order A-1002?')
    assert.match(order, /shipped/)
    assert.deepEqual(asked, ['time', 'orders'])
    // A specialist answers on its own, too.
    const { text: direct } = await host.run('orders', 'Where is my order A-1003?')
    assert.match(direct, /packed/)
  } finally {
    await host.close()
  }
})
