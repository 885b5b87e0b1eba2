import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buildServer } from 'agent-host'
import { expect } from 'chai'
import { openStore } from '../../src/store/open-store.ts'
import { SharedStore } from '../../src/store/shared-store.ts'
import { makeProject } from '../support/temp-project.ts'

/** Stores the last message, and that it was disposed. */
const KEEPER = `import { defineModule, Storage, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Keeper', provides: [TextMessageHandler], uses: { storage: Storage },
  create: ({ storage }) => ({
    handleText: (text) => storage.set('last', text),
    dispose: () => storage.set('disposed', true),
  }) })`

describe('SharedStore', () => {
  const locationOf = (dir: string) => ({ store: 'sqlite', dir: join(dir, 'responses'), projectDir: dir })

  it('is one store for its users, open until the last of them closes it', async () => {
    const shared = new SharedStore(locationOf((await makeProject()).dir))
    const [one, other] = await Promise.all([shared.open(), shared.open()])
    expect(one.serverId).to.equal(other.serverId)
    await one.close()
    await one.close()
    await other.commit([['a', '1']])
    await other.close()
    const error = await other.get(['a']).catch((thrown: { code?: string }) => thrown)
    expect(error).to.include({ code: 'STORE_UNAVAILABLE' })
    const again = await shared.open()
    expect(again.serverId).not.to.equal(other.serverId)
    expect(await again.get(['a'])).to.deep.equal(['1'])
    await again.close()
  })

  it('is open for a user who comes in the turn in which the last one closes it', async () => {
    const shared = new SharedStore(locationOf((await makeProject()).dir))
    const one = await shared.open()
    const closing = one.close()
    const other = await shared.open()
    await closing
    expect(await other.commit([['a', '1']])).to.equal(true)
    const [, third] = await Promise.all([other.close(), shared.open()])
    expect(await third.get(['a'])).to.deep.equal(['1'])
    await third.close()
    expect([other.serverId, third.serverId]).not.to.include(one.serverId)
  })

  it('fails for all who wait for it, and is tried again for the next', async () => {
    const project = await makeProject({ responses: 'a file where the folder belongs' })
    const shared = new SharedStore(locationOf(project.dir))
    const codes = await Promise.all(
      [shared.open(), shared.open()].map((opening) => opening.catch(({ code }: { code: string }) => code)),
    )
    expect(codes).to.deep.equal(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'])
    await project.remove('responses')
    const store = await shared.open()
    await store.close()
  })

  it('is opened once for responses and records of modules, and closed after both', async function () {
    if (process.platform !== 'linux') this.skip()
    const project = await makeProject({
      'modules/keeper.ts': KEEPER,
      'agents/a.yml': 'id: a\nmodules: [{ id: main, module: keeper, scope: agent }]',
    })
    const [options, file] = [{ projectDir: project.dir, logLevel: 'silent' as const }, 'responses/responses.db']
    const handles = () => openFiles().filter((path) => path.endsWith(join(project.dir, file))).length
    const server = await buildServer({ ...options, adapters: ['ResponsesCompatApiAdapter'] })
    const before = handles()
    const payload = { model: 'a', input: 'hi' }
    const { statusCode } = await server.app.inject({ method: 'POST', url: '/compat/responses', payload })
    expect([statusCode, handles()]).to.deep.equal([200, before])
    await server.close()
    expect(handles()).to.equal(0)
    const store = await openStore(locationOf(project.dir))
    const values = (await store.entries({ prefix: 'module:', limit: 10 })).map(([, value]) => value)
    expect(values).to.have.members(['true', '"hi"'])
    await store.close()
  })
})

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}
