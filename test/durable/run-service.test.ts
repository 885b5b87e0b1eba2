import { expect } from 'chai'
import { openProject } from '../../src/assembly/open-project.ts'
import { RunService } from '../../src/durable/run-service.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { resolveServerOptions } from '../../src/server/options/options.ts'
import { CheckedStore } from '../../src/store/checked-store.ts'
import { KeyvStore } from '../../src/store/keyv/keyv-store.ts'
import { recordSealing } from '../../src/store/sealing.ts'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { makeManualHost } from '../support/manual-host.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the durable runs of a server that starts', () => {
  async function open(projectDir: string, options: object = {}) {
    const all = resolveServerOptions({ projectDir, logLevel: 'silent', ...options })
    return openProject(all, {})
  }

  /** Starts a project, as a server does, and tells whether its runs were opened. */
  async function resume(projectDir: string, options: object = {}): Promise<boolean> {
    const project = await open(projectDir, options)
    await project.durableRuns.resume()
    try {
      return project.durableRuns.opened !== undefined
    } catch {
      return false
    } finally {
      await project.close()
    }
  }

  it('are opened where some are open, and nothing is opened otherwise', async () => {
    const { dir, exists } = await makeProject(CLIENT_TOOLS_PROJECT)
    expect([await resume(dir), exists('responses')]).to.deep.equal([false, false])
    const project = await open(dir)
    const runs = project.runs.of('acme')
    const ask = (content: string) => runs.start({ agent: 'tools', messages: [{ role: 'user', content }] })
    await runs.outcome((await ask('hello')).id)
    await project.close()
    expect(await resume(dir)).to.equal(false)
    const again = await open(dir)
    const { id } = await again.runs.of('acme').start({ agent: 'tools', messages: [{ role: 'user', content: 'pay x' }] })
    await again.runs.of('acme').outcome(id)
    await again.close()
    expect([await resume(dir), await resume(dir, { noWorker: true })]).to.deep.equal([true, false])
  })

  it('leave nothing behind at any attempt when they cannot be opened', async () => {
    const { dir } = await makeProject({
      'webhooks.yml': `webhooks: [{ url: "https://a.example", secret: "whsec_${'c2Vj'.repeat(8)}", events: [response.failed] }]`,
      'node_modules/bullmq/index.js': "exports.Queue = class { constructor() { throw new Error('no queue') } }",
    })
    const begun: string[] = []
    const ended: string[] = []
    const openRecords = async () => {
      const store = new CheckedStore(await KeyvStore.open(new Map()))
      const [watch, close] = [store.watch.bind(store), store.close.bind(store)]
      begun.push('store')
      return Object.assign(store, {
        watch: (topics: string[], onNotice: () => void) => {
          begun.push(...topics)
          const unwatch = watch(topics, onNotice)
          return () => {
            ended.push(...topics)
            unwatch()
          }
        },
        close: async () => {
          ended.push('store')
          await close()
        },
      })
    }
    const service = new RunService({
      limits: { ...resolveServerOptions({ projectDir: dir }), queue: 'redis://127.0.0.1:1' },
      host: makeManualHost().host,
      log: silentLog,
      hasStore: () => true,
      isShared: false,
      openRecords,
      sealing: recordSealing(openRecords),
      describeFailure: String,
      onFailure: () => {},
    })
    for (const at of [1, 2]) {
      const error = await service.open().catch((error) => error)
      expect(error.message).to.equal('no queue')
      expect(begun).to.deep.equal(Array(at).fill(['store', 'deliveries']).flat())
      expect(ended).to.deep.equal(Array(at).fill(['deliveries', 'store']).flat())
      expect(() => service.opened).to.throw('The durable runs are not open yet.')
    }
    await service.close()
  })

  it('are opened for one that is queued', async () => {
    const { dir } = await makeProject(CLIENT_TOOLS_PROJECT)
    const first = await open(dir, { noWorker: true })
    await first.runs.of('').start({ agent: 'tools', messages: [{ role: 'user', content: 'hello' }] })
    await first.close()
    expect(await resume(dir)).to.equal(true)
  })
})
