import { readdirSync, readFileSync } from 'node:fs'
import { AgentHost } from 'agent-host'
import { expect } from 'chai'
import { planProject } from '../../src/project/create/plan-project.ts'
import { itWith } from '../support/it-with.ts'
import { makeProject } from '../support/temp-project.ts'

const ROOT = new URL('../../', import.meta.url)
const pages = [
  'README.md',
  ...readdirSync(new URL('docs/', ROOT))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

interface Block {
  readonly page: string
  readonly language: string
  readonly code: string
}

const blocks = pages.flatMap((page): Block[] => {
  const text = readFileSync(new URL(page, ROOT), 'utf8')
  return [...text.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, language = '', code = '']) => ({ page, language, code }))
})
const agents = blocks.filter(({ language, code }) => language === 'yaml' && /^(#.*\n)*id: /.test(code))

/** A project as init makes it, with the files whose names the blocks tell in their first line. */
async function makeDocumentedProject(): Promise<string> {
  const template = await planProject({ name: 'docs', llm: 'offline' })
  const named = blocks.flatMap(({ code }) => {
    const path = /^(?:\/\/|#) ((?:tools|modules|prompts)\/\S+)\n/.exec(code)?.[1]
    return path ? [[path, code] as const] : []
  })
  const { dir } = await makeProject({
    ...Object.fromEntries(template.map(({ path, content }) => [path, String(content)])),
    ...Object.fromEntries(named),
    'skills/refunds/SKILL.md': '---\nname: refunds\ndescription: How to refund.\n---\n',
  })
  return dir
}

describe('the agents of the docs', () => {
  it('are there', () => {
    expect(agents.length).to.be.above(8)
  })

  for (const { page, code } of agents) {
    itWith(code.includes('.py') ? 'Python 3.8' : undefined, `${page}: ${/^id: (.*)$/m.exec(code)?.[1]}`, async () => {
      const host = new AgentHost({ projectDir: await makeDocumentedProject(), environment: { PATH: process.env.PATH } })
      try {
        await host.register(code, { file: page })
      } finally {
        await host.close(0)
      }
    })
  }
})
