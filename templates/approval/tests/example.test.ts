import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AgentHost } from 'agent-host'

test('a large refund waits for a person, and is made once it is approved', async () => {
  // An empty environment: no key is found, and the offline model answers.
  const host = new AgentHost({ environment: {} })
  try {
    await host.register(await readFile('agents/example.yml', 'utf8'), { file: 'agents/example.yml' })
    const waiting = await host.run('example', 'Please refund 20 euros for order A-1002.')
    assert.equal(waiting.status, 'waiting')
    const [pending] = waiting.pending
    assert.equal(pending?.name, 'refund')
    const answers = [{ callId: pending.callId, kind: 'approval', decision: 'approve' }] as const
    const ended = await host.run('example', waiting.trail, { answers, pending: waiting.pending })
    assert.match(ended.text, /Refunded 20 euros for order A-1002\./)
  } finally {
    await host.close()
  }
})

test('a small refund needs no approval', async () => {
  const host = new AgentHost({ environment: {} })
  try {
    await host.register(await readFile('agents/example.yml', 'utf8'), { file: 'agents/example.yml' })
    const { status } = await host.run('example', 'Please refund 5 euros for order A-1002.')
    assert.equal(status, 'completed')
  } finally {
    await host.close()
  }
})
