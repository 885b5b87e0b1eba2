import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { AgentHost } from 'agent-host'
import { expect } from 'chai'
import { hasPackage, loadPackage } from '../../../modules/llm/lib/optional-package.ts'
import { failure } from '../../support/connect-model.ts'
import { makeProject } from '../../support/temp-project.ts'

describe('optional packages', () => {
  it('come from the project first', async () => {
    const { dir } = await makeProject({
      'node_modules/@ai-sdk/anthropic/package.json': '{ "main": "index.js" }',
      'node_modules/@ai-sdk/anthropic/index.js': "exports.from = 'project'",
    })
    expect(await loadPackage('@ai-sdk/anthropic', 'llm/anthropic', dir)).to.include({ from: 'project' })
  })

  it('otherwise come from the installation of agent-host', async () => {
    const { dir } = await makeProject({})
    expect(hasPackage('@ai-sdk/anthropic', dir)).to.equal(true)
    expect(await loadPackage('@ai-sdk/anthropic', 'llm/anthropic', dir)).to.have.property('createAnthropic')
  })

  it('are named with the install command when missing', async () => {
    const { dir } = await makeProject({})
    expect(hasPackage('@ai-sdk/nobody', dir)).to.equal(false)
    expect(await failure(loadPackage('@ai-sdk/nobody', 'llm/nobody', dir))).to.equal(
      'llm/nobody needs the package @ai-sdk/nobody, which is not installed. In the project: npm install @ai-sdk/nobody',
    )
  })

  for (const [reference, name] of [
    ['llm/anthropic', '@ai-sdk/anthropic'],
    ['llm/google', '@ai-sdk/google'],
    ['llm/bedrock', '@ai-sdk/amazon-bedrock'],
  ] as const) {
    it(`${reference}, ejected into a project without ${name}, fails to register`, async () => {
      const { dir } = await makeProject({})
      await cp(new URL('../../../modules/llm/', import.meta.url), join(dir, 'modules/llm'), { recursive: true })
      const host = new AgentHost({ projectDir: dir, environment: {} })
      const agent = `id: a\nmodules:\n  - { id: llm, module: ${reference}, config: { model: m } }\n  - { id: o, module: orchestrator/tool-loop }\n`
      try {
        expect(await failure(host.register(agent))).to.contain(`${reference} needs the package ${name}`)
      } finally {
        await host.close(0)
      }
    })
  }
})
