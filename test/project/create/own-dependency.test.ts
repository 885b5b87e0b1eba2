import { expect } from 'chai'
import { ownDependency } from '../../../src/project/create/own-dependency.ts'
import { VERSION } from '../../../src/version.ts'
import { makeProject } from '../../support/temp-project.ts'

const lock = (resolved: string) => JSON.stringify({ packages: { 'node_modules/agent-host': { resolved } } })
const AT = 'user/node_modules/agent-host'

describe('ownDependency', () => {
  it('is a range of versions for a copy that was published', async () => {
    const { path } = await makeProject({ published: '' })
    expect(ownDependency(path(AT), path('published'))).to.equal(`^${VERSION}`)
  })

  it('is the tarball that npm installed the copy from, as long as it is there', async () => {
    const files = { 'user/node_modules/.package-lock.json': lock('file:../kept/a.tgz'), 'kept/a.tgz': '' }
    const { path, remove } = await makeProject(files)
    expect(ownDependency(path(AT), path('published'))).to.equal(`file:${path('kept/a.tgz')}`)
    await remove('kept/a.tgz')
    expect(ownDependency(path(AT), path('published'))).to.equal(`file:${path(AT)}`)
  })

  it('is the folder of a clone, or of a copy whose origin npm did not note', async () => {
    const { path } = await makeProject()
    expect(ownDependency(path('clone'), path('published'))).to.equal(`file:${path('clone')}`)
    expect(ownDependency(path(AT), path('published'))).to.equal(`file:${path(AT)}`)
  })
})
