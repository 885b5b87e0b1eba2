import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { HostError } from '../../../src/errors.ts'
import { makeProject as makeAgentProject } from '../../../src/project/create/make-project.ts'
import { makeProject as makeFolder } from '../../support/temp-project.ts'

const CHOICES = { name: 'demo', llm: 'offline' }

async function failureOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(HostError)
  const { code, message } = error as HostError
  return `${code}: ${message}`
}

describe('makeProject', () => {
  it('creates parent folders', async () => {
    const { path, read } = await makeFolder()
    await makeAgentProject(path('a/b/demo'), CHOICES)
    expect(JSON.parse(await read('a/b/demo/package.json')).name).to.equal('demo')
  })

  it('leaves nothing behind if it fails', async () => {
    const { dir, path, read } = await makeFolder({ parent: 'a file where a folder is needed' })
    expect(await failureOf(makeAgentProject(path('parent/demo'), CHOICES))).to.match(/^PROJECT_INVALID: /)
    expect(await readdir(dir)).to.deep.equal(['parent'])
    expect(await read('parent')).to.equal('a file where a folder is needed')
  })

  it('two at once in one folder: the second changes nothing', async () => {
    const { dir, path } = await makeFolder()
    await makeAgentProject(path('demo'), { ...CHOICES, python: '3.12' })
    expect(await failureOf(makeAgentProject(path('demo'), CHOICES))).to.match(/PROJECT_INVALID: .* is not empty/)
    expect(await readdir(dir)).to.deep.equal(['demo'])
  })
})
