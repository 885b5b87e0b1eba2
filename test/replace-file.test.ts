import { mkdirSync, readdirSync } from 'node:fs'
import { expect } from 'chai'
import { replaceFile } from '../src/replace-file.ts'
import { makeProject } from './support/temp-project.ts'

describe('replacing a file', () => {
  it('leaves no draft where it fails', async () => {
    const { dir, path } = await makeProject()
    mkdirSync(path('taken/inside'), { recursive: true })
    expect(() => replaceFile(path('taken'), 'text')).to.throw()
    expect(readdirSync(dir).filter((name) => name.startsWith('taken'))).to.deep.equal(['taken'])
  })
})
