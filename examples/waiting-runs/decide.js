import { open } from './open.js'

const [decision = 'approve', reason] = process.argv.slice(2)
const project = await open()
for (const { runId, pending } of await project.listWaiting()) {
  const answers = pending.map(({ callId }) => ({ callId, kind: 'approval', decision, ...(reason ? { reason } : {}) }))
  console.log((await project.resume(runId, answers)).text)
}
await project.close()
