import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AgentHost } from 'agent-host'

test('the example agent answers from the documents, without a network', async () => {
  // An empty environment: no key is found, and the offline model answers.
  const host = new AgentHost({ environment: {} })
  try {
    await host.register(await readFile('agents/example.yml', 'utf8'), { file: 'agents/example.yml' })
    const { text } = await host.run('example', 'When is the shop open on Saturday?')
    assert.match(text, /documents\/opening-hours\.md/)
    assert.match(text, /from 10 to 14/)
  } finally {
    await host.close()
  }
})

test('it answers every tenant: each has a memory of its own', async () => {
  const host = new AgentHost({ environment: {} })
  try {
    await host.register(await readFile('agents/example.yml', 'utf8'), { file: 'agents/example.yml' })
    for (const tenant of ['acme', 'other']) {
      const { text } = await host.run('example', 'What does delivery cost?', { tenant })
      assert.match(text, /documents\/delivery\.md/)
    }
  } finally {
    await host.close()
  }
})
